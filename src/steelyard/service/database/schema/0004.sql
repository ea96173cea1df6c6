-- What was changed and by whom, which the settings page lists: few events among millions.
CREATE INDEX event_change ON event (project, seq) WHERE kind IN (1, 2, 10, 11, 12);
