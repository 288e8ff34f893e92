-- Written by hand: drizzle-kit knows no triggers. A revision and its contents do not change; only retention deletes, and
-- says so for its transaction: set_config('svc.retention', 'on', true).
CREATE FUNCTION refuse_change_of_source() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('svc.retention', true) = 'on' THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% of % is refused: source does not change', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END
$$;--> statement-breakpoint
CREATE TRIGGER revisions_do_not_change BEFORE UPDATE OR DELETE ON revisions
  FOR EACH ROW EXECUTE FUNCTION refuse_change_of_source();--> statement-breakpoint
CREATE TRIGGER revisions_are_not_truncated BEFORE TRUNCATE ON revisions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_source();--> statement-breakpoint
CREATE TRIGGER source_blobs_do_not_change BEFORE UPDATE OR DELETE ON source_blobs
  FOR EACH ROW EXECUTE FUNCTION refuse_change_of_source();--> statement-breakpoint
CREATE TRIGGER source_blobs_are_not_truncated BEFORE TRUNCATE ON source_blobs
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_source();
