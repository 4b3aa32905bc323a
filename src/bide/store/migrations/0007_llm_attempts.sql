-- A request whose line failed is made again, as another job: its row goes on with that, and says how many there were.

ALTER TABLE llm_requests ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1 CHECK (attempts >= 1);
