-- As schema/0004.sql.
CREATE INDEX event_change ON event (project, seq) WHERE kind IN (1, 2, 10, 11, 12);
