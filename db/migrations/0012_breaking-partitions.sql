-- Each table becomes the rest of one with partitions, as it is: no row is moved. On Postgres the worker makes the months,
-- and what was there before them a partition of its own; embedded the rest is all of it.
LOCK TABLE "events", "deliveries", "messages", "attempts", "activity", "audit_log" IN ACCESS EXCLUSIVE MODE;
--> statement-breakpoint
ALTER TABLE "deliveries" ADD COLUMN "replayed_at" timestamp with time zone;
--> statement-breakpoint
-- From about when the migration before read them.
INSERT INTO "delivery_keys"
SELECT d."org_id", d."event_id",
	CASE WHEN e."fanned_out_at" IS NULL AND d."replay_of" IS NULL
		THEN coalesce(d."integration_id", d."subscription_id", d."user_id", '') ELSE d."id" END,
	d."id"
FROM "deliveries" d LEFT JOIN "events" e ON e."org_id" = d."org_id" AND e."id" = d."event_id"
WHERE d."created_at" > coalesce((SELECT max("recorded_at") FROM "event_keys"), '-infinity') - interval '1 hour'
	AND NOT EXISTS (
		SELECT FROM "delivery_keys" k
		WHERE k."org_id" = d."org_id" AND k."event_id" = d."event_id" AND k."delivery_id" = d."id")
ON CONFLICT DO NOTHING;
--> statement-breakpoint
INSERT INTO "event_keys"
SELECT "org_id", "source", "dedup_key", "id", "recorded_at" FROM "events"
WHERE "recorded_at" > coalesce((SELECT max("recorded_at") FROM "event_keys"), '-infinity') - interval '1 hour'
ON CONFLICT DO NOTHING;
--> statement-breakpoint
INSERT INTO "digest_keys"
SELECT "org_id", "digest_key", "window_end", "id" FROM "messages"
WHERE "state" = 'open' AND "digest_key" IS NOT NULL AND "window_end" IS NOT NULL;
--> statement-breakpoint
UPDATE "deliveries" d SET "replayed_at" = r."created_at" FROM "deliveries" r
WHERE r."org_id" = d."org_id" AND r."replay_of" = d."id" AND r."replay_of" IS NOT NULL;
--> statement-breakpoint
DROP INDEX "activity_by_grant";
--> statement-breakpoint
ALTER TABLE "activity" RENAME TO "activity_rest";
--> statement-breakpoint
ALTER TABLE "activity_rest" RENAME CONSTRAINT "activity_org_id_id_pk" TO "activity_rest_pkey";
--> statement-breakpoint
ALTER INDEX "activity_by_user" RENAME TO "activity_rest_by_user";
--> statement-breakpoint
ALTER INDEX "activity_by_name" RENAME TO "activity_rest_by_name";
--> statement-breakpoint
ALTER INDEX "activity_by_type" RENAME TO "activity_rest_by_type";
--> statement-breakpoint
CREATE TABLE "activity" (LIKE "activity_rest" INCLUDING DEFAULTS) PARTITION BY RANGE ("id");
--> statement-breakpoint
ALTER TABLE "activity" ADD CONSTRAINT "activity_org_id_id_pk" PRIMARY KEY ("org_id","id");
--> statement-breakpoint
CREATE INDEX "activity_by_user" ON "activity" USING btree ("org_id","user_id","id");
--> statement-breakpoint
CREATE INDEX "activity_by_name" ON "activity" USING btree ("org_id","name","id");
--> statement-breakpoint
CREATE INDEX "activity_by_type" ON "activity" USING btree ("org_id","type","id");
--> statement-breakpoint
ALTER TABLE "activity" ATTACH PARTITION "activity_rest" DEFAULT;
--> statement-breakpoint
ALTER TABLE "audit_log" RENAME TO "audit_log_rest";
--> statement-breakpoint
ALTER TABLE "audit_log_rest" RENAME CONSTRAINT "audit_log_org_id_id_pk" TO "audit_log_rest_pkey";
--> statement-breakpoint
ALTER INDEX "audit_log_by_actor" RENAME TO "audit_log_rest_by_actor";
--> statement-breakpoint
ALTER INDEX "audit_log_by_action" RENAME TO "audit_log_rest_by_action";
--> statement-breakpoint
CREATE TABLE "audit_log" (LIKE "audit_log_rest" INCLUDING DEFAULTS) PARTITION BY RANGE ("id");
--> statement-breakpoint
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_org_id_id_pk" PRIMARY KEY ("org_id","id");
--> statement-breakpoint
CREATE INDEX "audit_log_by_actor" ON "audit_log" USING btree ("org_id","actor_id","id");
--> statement-breakpoint
CREATE INDEX "audit_log_by_action" ON "audit_log" USING btree ("org_id","action","id");
--> statement-breakpoint
ALTER TABLE "audit_log" ATTACH PARTITION "audit_log_rest" DEFAULT;
--> statement-breakpoint
DROP INDEX "events_once";
--> statement-breakpoint
ALTER TABLE "events" RENAME TO "events_rest";
--> statement-breakpoint
ALTER TABLE "events_rest" RENAME CONSTRAINT "events_org_id_id_pk" TO "events_rest_pkey";
--> statement-breakpoint
ALTER INDEX "events_to_fan_out" RENAME TO "events_rest_to_fan_out";
--> statement-breakpoint
ALTER INDEX "events_that_failed_to_fan_out" RENAME TO "events_rest_that_failed_to_fan_out";
--> statement-breakpoint
ALTER INDEX "events_by_type" RENAME TO "events_rest_by_type";
--> statement-breakpoint
CREATE TABLE "events" (LIKE "events_rest" INCLUDING DEFAULTS) PARTITION BY RANGE ("id");
--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_org_id_id_pk" PRIMARY KEY ("org_id","id");
--> statement-breakpoint
CREATE INDEX "events_to_fan_out" ON "events" USING btree ("org_id","seq") WHERE "fanned_out_at" is null;
--> statement-breakpoint
CREATE INDEX "events_that_failed_to_fan_out" ON "events" USING btree ("org_id","subject","seq") WHERE "fanned_out_at" is null and "fan_out_again_at" is not null;
--> statement-breakpoint
CREATE INDEX "events_by_type" ON "events" USING btree ("org_id","type","occurred_at");
--> statement-breakpoint
ALTER TABLE "events" ATTACH PARTITION "events_rest" DEFAULT;
--> statement-breakpoint
DROP INDEX "deliveries_once_per_subscription";
--> statement-breakpoint
DROP INDEX "deliveries_once_per_follower";
--> statement-breakpoint
DROP INDEX "deliveries_by_replay";
--> statement-breakpoint
ALTER TABLE "deliveries" RENAME TO "deliveries_rest";
--> statement-breakpoint
ALTER TABLE "deliveries_rest" RENAME CONSTRAINT "deliveries_org_id_id_pk" TO "deliveries_rest_pkey";
--> statement-breakpoint
ALTER INDEX "deliveries_by_message" RENAME TO "deliveries_rest_by_message";
--> statement-breakpoint
ALTER INDEX "deliveries_by_user" RENAME TO "deliveries_rest_by_user";
--> statement-breakpoint
ALTER INDEX "deliveries_by_subscription" RENAME TO "deliveries_rest_by_subscription";
--> statement-breakpoint
CREATE TABLE "deliveries" (LIKE "deliveries_rest" INCLUDING DEFAULTS) PARTITION BY RANGE ("id");
--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_org_id_id_pk" PRIMARY KEY ("org_id","id");
--> statement-breakpoint
CREATE INDEX "deliveries_by_message" ON "deliveries" USING btree ("org_id","message_id");
--> statement-breakpoint
CREATE INDEX "deliveries_by_user" ON "deliveries" USING btree ("org_id","user_id","id");
--> statement-breakpoint
CREATE INDEX "deliveries_by_subscription" ON "deliveries" USING btree ("org_id","subscription_id","id");
--> statement-breakpoint
ALTER TABLE "deliveries" ATTACH PARTITION "deliveries_rest" DEFAULT;
--> statement-breakpoint
DROP INDEX "messages_one_digest_per_window";
--> statement-breakpoint
DROP INDEX "messages_due";
--> statement-breakpoint
DROP INDEX "messages_leased";
--> statement-breakpoint
ALTER TABLE "messages" RENAME TO "messages_rest";
--> statement-breakpoint
ALTER TABLE "messages_rest" RENAME CONSTRAINT "messages_org_id_id_pk" TO "messages_rest_pkey";
--> statement-breakpoint
ALTER INDEX "messages_due_by_organization" RENAME TO "messages_rest_due_by_organization";
--> statement-breakpoint
ALTER INDEX "messages_in_order" RENAME TO "messages_rest_in_order";
--> statement-breakpoint
CREATE TABLE "messages" (LIKE "messages_rest" INCLUDING DEFAULTS) PARTITION BY RANGE ("id");
--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_org_id_id_pk" PRIMARY KEY ("org_id","id");
--> statement-breakpoint
CREATE INDEX "messages_active" ON "messages" USING btree ("lease_until","next_at") WHERE "state" in ('open', 'pending', 'claimed', 'sending');
--> statement-breakpoint
CREATE INDEX "messages_due_by_organization" ON "messages" USING btree ("org_id","channel","next_at") WHERE "state" in ('open', 'pending');
--> statement-breakpoint
CREATE INDEX "messages_in_order" ON "messages" USING btree ("org_id","target","ordering_key","seq") WHERE "state" in ('pending', 'claimed', 'sending');
--> statement-breakpoint
ALTER TABLE "messages" ATTACH PARTITION "messages_rest" DEFAULT;
--> statement-breakpoint
ALTER TABLE "attempts" RENAME TO "attempts_rest";
--> statement-breakpoint
ALTER TABLE "attempts_rest" RENAME CONSTRAINT "attempts_org_id_message_id_number_pk" TO "attempts_rest_pkey";
--> statement-breakpoint
CREATE TABLE "attempts" (LIKE "attempts_rest" INCLUDING DEFAULTS) PARTITION BY RANGE ("message_id");
--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_org_id_message_id_number_pk" PRIMARY KEY ("org_id","message_id","number");
--> statement-breakpoint
CREATE INDEX "attempts_to_clear" ON "attempts" USING btree ("started_at") WHERE "response" is not null or "request_headers" is not null;
--> statement-breakpoint
ALTER TABLE "attempts" ATTACH PARTITION "attempts_rest" DEFAULT;