-- The log (event, item) is the truth. question, answer, training_example and budget are written in the same
-- transaction and can be rebuilt from it; people and tokens stand outside the replay, each change of them is an event.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE project (
  id INTEGER PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  head INTEGER NOT NULL,
  chain BLOB NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE event (
  project INTEGER NOT NULL REFERENCES project,
  seq INTEGER NOT NULL CHECK (seq > 0),
  kind INTEGER NOT NULL,
  at INTEGER NOT NULL, -- microseconds, UTC
  item INTEGER,
  actor INTEGER NOT NULL,
  body BLOB NOT NULL,
  chain BLOB NOT NULL CHECK (length(chain) = 16),
  PRIMARY KEY (project, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_item ON event (project, item, seq) WHERE kind > 3; -- the few events after a decision
CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER event_remains BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TABLE item (
  project INTEGER NOT NULL,
  id INTEGER NOT NULL, -- number of its decision's event
  external TEXT,
  payload BLOB, -- 16 random bytes and the msgpack cells; NULL: erased
  PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX item_external ON item (project, external) WHERE external IS NOT NULL;
CREATE TABLE request (
  project INTEGER NOT NULL,
  actor INTEGER NOT NULL,
  key TEXT NOT NULL,
  digest BLOB NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  refused BLOB, -- msgpack [[position, status, code, where], ...], no values
  reply BLOB, -- what was answered, where the log alone does not tell
  at INTEGER NOT NULL,
  PRIMARY KEY (project, actor, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE question (
  project INTEGER NOT NULL,
  item INTEGER NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3), -- 0 open, 1 settled, 2 closed without a label, 3 disputed
  expires INTEGER NOT NULL,
  paid INTEGER NOT NULL CHECK (paid IN (0, 1)),
  label INTEGER,
  reach INTEGER NOT NULL, -- rounds up to this one that could have been asked
  PRIMARY KEY (project, item),
  CHECK ((state = 1) = (label IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX question_open ON question (project, item) WHERE state IN (0, 3);
CREATE TABLE answer (
  project INTEGER NOT NULL,
  item INTEGER NOT NULL,
  person INTEGER NOT NULL,
  label INTEGER, -- NULL: skipped
  seq INTEGER NOT NULL,
  PRIMARY KEY (project, item, person)
) STRICT, WITHOUT ROWID;
CREATE TABLE training_example (
  project INTEGER NOT NULL,
  n INTEGER NOT NULL, -- order of learning
  item INTEGER NOT NULL,
  y INTEGER, -- NULL: taken back
  x BLOB,
  score REAL NOT NULL,
  answer INTEGER NOT NULL,
  chance REAL NOT NULL CHECK (chance > 0 AND chance <= 1),
  PRIMARY KEY (project, n),
  UNIQUE (project, item)
) STRICT;
CREATE TABLE budget (
  project INTEGER PRIMARY KEY,
  most INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  CHECK (spent >= 0 AND reserved >= 0 AND spent + reserved <= most)
) STRICT;
CREATE TABLE checkpoint (
  project INTEGER NOT NULL,
  upto INTEGER NOT NULL,
  format INTEGER NOT NULL,
  numerics INTEGER NOT NULL,
  body BLOB NOT NULL,
  sha256 BLOB NOT NULL,
  pinned INTEGER NOT NULL,
  PRIMARY KEY (project, upto)
) STRICT;
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, password TEXT, active INTEGER NOT NULL) STRICT;
CREATE TABLE role (
  person INTEGER NOT NULL,
  project INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('owner', 'annotator', 'producer', 'reader')),
  PRIMARY KEY (person, project, role)
) STRICT;
CREATE TABLE token (
  id TEXT PRIMARY KEY,
  person INTEGER NOT NULL,
  project INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('owner', 'annotator', 'producer', 'reader')),
  secret BLOB NOT NULL, -- SHA-256
  expires INTEGER,
  revoked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE session (
  id BLOB PRIMARY KEY, -- SHA-256
  person INTEGER NOT NULL,
  csrf BLOB NOT NULL,
  created INTEGER NOT NULL,
  seen INTEGER NOT NULL
) STRICT;
INSERT INTO project (id, slug, head, chain) VALUES (0, '_service', 0, zeroblob(16));
