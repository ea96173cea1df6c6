-- As schema/0003.sql.
CREATE TABLE shadow_answer (
  project BIGINT NOT NULL,
  item BIGINT NOT NULL,
  slot BIGINT NOT NULL, -- 0: the learner, where a champion decides
  answer BIGINT NOT NULL,
  PRIMARY KEY (project, item, slot)
);
CREATE TABLE model (sha256 BYTEA PRIMARY KEY, body BYTEA NOT NULL);
