-- What shadows would have answered where a label was asked for; rebuilt from the log as question is.
CREATE TABLE shadow_answer (
  project INTEGER NOT NULL,
  item INTEGER NOT NULL,
  slot INTEGER NOT NULL, -- 0: the learner, where a champion decides
  answer INTEGER NOT NULL,
  PRIMARY KEY (project, item, slot)
) STRICT, WITHOUT ROWID;
-- Models that decide or have decided, as files; the log names them by their digest.
CREATE TABLE model (sha256 BLOB PRIMARY KEY, body BLOB NOT NULL) STRICT;
