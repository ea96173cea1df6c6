-- One-time links: of the code only the SHA-256 is kept, and a link that was used is gone.
CREATE TABLE link (id BLOB PRIMARY KEY, person INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT;
CREATE INDEX session_person ON session (person);
