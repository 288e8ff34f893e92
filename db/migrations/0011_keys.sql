CREATE TABLE "event_keys" (
	"org_id" text NOT NULL,
	"source" text NOT NULL,
	"dedup_key" text NOT NULL,
	"event_id" text NOT NULL,
	"recorded_at" timestamp with time zone NOT NULL,
	CONSTRAINT "event_keys_org_id_source_dedup_key_pk" PRIMARY KEY("org_id","source","dedup_key")
);
--> statement-breakpoint
CREATE TABLE "digest_keys" (
	"org_id" text NOT NULL,
	"digest_key" text NOT NULL,
	"window_end" timestamp with time zone NOT NULL,
	"message_id" text NOT NULL,
	CONSTRAINT "digest_keys_org_id_digest_key_window_end_pk" PRIMARY KEY("org_id","digest_key","window_end")
);
--> statement-breakpoint
CREATE TABLE "delivery_keys" (
	"org_id" text NOT NULL,
	"event_id" text NOT NULL,
	"recipient" text NOT NULL,
	"delivery_id" text NOT NULL,
	CONSTRAINT "delivery_keys_org_id_event_id_recipient_pk" PRIMARY KEY("org_id","event_id","recipient")
) PARTITION BY RANGE ("event_id");
--> statement-breakpoint
CREATE TABLE "delivery_keys_rest" PARTITION OF "delivery_keys" DEFAULT;
--> statement-breakpoint
-- Most of what is there, while others go on; what comes meanwhile is added by the next migration, under its lock.
INSERT INTO "event_keys" SELECT "org_id", "source", "dedup_key", "id", "recorded_at" FROM "events";
--> statement-breakpoint
INSERT INTO "delivery_keys"
SELECT d."org_id", d."event_id",
	CASE WHEN e."fanned_out_at" IS NULL AND d."replay_of" IS NULL
		THEN coalesce(d."integration_id", d."subscription_id", d."user_id", '') ELSE d."id" END,
	d."id"
FROM "deliveries" d LEFT JOIN "events" e ON e."org_id" = d."org_id" AND e."id" = d."event_id"
ON CONFLICT DO NOTHING;
--> statement-breakpoint
CREATE INDEX "event_keys_by_time" ON "event_keys" USING btree ("recorded_at");
--> statement-breakpoint
CREATE INDEX "digest_keys_by_time" ON "digest_keys" USING btree ("window_end");