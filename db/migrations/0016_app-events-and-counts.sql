-- In the order in which events become deliveries, so that nobody waits for us who we wait for.
LOCK TABLE "outbox", "events", "deliveries" IN ACCESS EXCLUSIVE MODE;
--> statement-breakpoint
CREATE TABLE "delivery_count_changes" (
	"org_id" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"integration_id" text NOT NULL,
	"state" text NOT NULL,
	"reason" text NOT NULL,
	"n" integer NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "delivery_count_changes_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	CONSTRAINT "delivery_count_changes_org_id_hour_seq_pk" PRIMARY KEY("org_id","hour","seq")
);
--> statement-breakpoint
CREATE TABLE "delivery_counts" (
	"org_id" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"integration_id" text NOT NULL,
	"state" text NOT NULL,
	"reason" text NOT NULL,
	"n" integer NOT NULL,
	CONSTRAINT "delivery_counts_org_id_hour_integration_id_state_reason_pk" PRIMARY KEY("org_id","hour","integration_id","state","reason")
);
--> statement-breakpoint
DROP INDEX "deliveries_by_user";--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "text" text;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "text" text;--> statement-breakpoint
CREATE INDEX "deliveries_by_destination" ON "deliveries" USING btree ("org_id",coalesce("integration_id", "user_id"),"id");--> statement-breakpoint
-- Written by hand from here: drizzle-kit knows no triggers. By them the counts are kept in the transaction of every change,
-- whoever makes it, also a program of the version before.
CREATE FUNCTION count_new_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO delivery_count_changes (org_id, hour, integration_id, state, reason, n)
  SELECT org_id, date_trunc('hour', created_at, 'UTC'), coalesce(integration_id, ''), state, coalesce(reason, ''), count(*)
  FROM added WHERE channel IS NOT NULL GROUP BY 1, 2, 3, 4, 5;
  RETURN NULL;
END
$$;--> statement-breakpoint
CREATE FUNCTION count_changed_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO delivery_count_changes (org_id, hour, integration_id, state, reason, n)
  SELECT org_id, date_trunc('hour', created_at, 'UTC'), coalesce(integration_id, ''), state, coalesce(reason, ''), sum(n)
  FROM (
    SELECT org_id, created_at, integration_id, state, reason, 1 AS n FROM after WHERE channel IS NOT NULL
    UNION ALL
    SELECT org_id, created_at, integration_id, state, reason, -1 FROM before WHERE channel IS NOT NULL
  ) changed
  GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0;
  RETURN NULL;
END
$$;--> statement-breakpoint
CREATE TRIGGER deliveries_are_counted AFTER INSERT ON "deliveries" REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_deliveries();--> statement-breakpoint
CREATE TRIGGER changes_of_deliveries_are_counted AFTER UPDATE ON "deliveries"
  REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_deliveries();--> statement-breakpoint
INSERT INTO "delivery_counts"
SELECT "org_id", date_trunc('hour', "created_at", 'UTC'), coalesce("integration_id", ''), "state", coalesce("reason", ''), count(*)
FROM "deliveries" WHERE "channel" IS NOT NULL GROUP BY 1, 2, 3, 4, 5;--> statement-breakpoint
-- Notices to admins go together, once an hour.
UPDATE "subscriptions" SET "timing" = 'hourly' WHERE "timing" = 'immediately' AND "default_key" LIKE 'integrations:%';
