ALTER TABLE stock RENAME COLUMN shelf TO bin;
CREATE INDEX stock_by_bin ON stock (bin);
