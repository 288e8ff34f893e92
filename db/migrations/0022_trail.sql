CREATE SEQUENCE "trail_order" CACHE 1;
--> statement-breakpoint
CREATE SEQUENCE "trail_place" CACHE 1;
--> statement-breakpoint
CREATE TABLE "trail_seals" (
	"org_id" text NOT NULL,
	"number" bigint NOT NULL,
	"epoch" text NOT NULL,
	"first_row" bigint NOT NULL,
	"row_count" integer NOT NULL,
	"activity_count" integer NOT NULL,
	"order_from" bigint NOT NULL,
	"order_to" bigint NOT NULL,
	"activity_first" text,
	"activity_last" text,
	"audit_first" text,
	"audit_last" text,
	"signed" text NOT NULL,
	"signature" text NOT NULL,
	"sealed_at" timestamp with time zone NOT NULL,
	"leaves" "bytea" NOT NULL,
	"place" bigint DEFAULT nextval('trail_place') NOT NULL,
	"removed_before" timestamp with time zone,
	CONSTRAINT "trail_seals_org_id_number_pk" PRIMARY KEY("org_id","number")
);
--> statement-breakpoint
ALTER TABLE "trail_seals" ALTER COLUMN "leaves" SET STORAGE EXTERNAL;
--> statement-breakpoint
CREATE INDEX "trail_seals_by_row" ON "trail_seals" USING btree ("org_id","first_row");
--> statement-breakpoint
CREATE INDEX "trail_seals_by_place" ON "trail_seals" USING btree ("place");
--> statement-breakpoint
CREATE TABLE "trail_streams" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"kind" text NOT NULL,
	"host" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text NOT NULL,
	"after_epoch" text NOT NULL,
	"after_row" bigint NOT NULL,
	"next_at" timestamp with time zone NOT NULL,
	"failures" integer NOT NULL,
	"problem" text,
	"sent_at" timestamp with time zone,
	"lease_token" text,
	"lease_until" timestamp with time zone,
	CONSTRAINT "trail_streams_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE INDEX "trail_streams_by_time" ON "trail_streams" USING btree ("next_at");
--> statement-breakpoint
CREATE TABLE "trail_pending" (
	"trail_order" bigint NOT NULL,
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	CONSTRAINT "trail_pending_trail_order_org_id_pk" PRIMARY KEY("trail_order","org_id")
);
--> statement-breakpoint
ALTER TABLE "activity" ADD COLUMN "trail_order" bigint;
--> statement-breakpoint
-- In two steps: with a default at once every row there is would be written anew.
ALTER TABLE "audit_log" ADD COLUMN "trail_order" bigint;
--> statement-breakpoint
ALTER TABLE "audit_log" ALTER COLUMN "trail_order" SET DEFAULT nextval('trail_order');
--> statement-breakpoint
CREATE INDEX "audit_log_by_trail_order" ON ONLY "audit_log" USING btree ("trail_order");
--> statement-breakpoint
-- Months that are over have no row of the trail, and are not read for an index. It begins with the first month that has one.
DO $$
DECLARE
	part record;
	month text := to_char(now() at time zone 'UTC', 'YYYYMM');
	began timestamptz;
BEGIN
	FOR part IN
		SELECT c.relname AS name, substring(c.relname from '\d{6}$') AS digits,
			c.relname ~ '_until_\d{6}$' AS is_past
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
		WHERE p.relname = 'audit_log' AND p.relnamespace = 'public'::regnamespace AND p.relkind = 'p'
	LOOP
		IF part.digits < month OR (part.is_past AND part.digits <= month) THEN
			began := date_trunc('month', now() at time zone 'UTC') at time zone 'UTC';
		ELSE
			EXECUTE format('CREATE INDEX %I ON %I USING btree ("trail_order")', part.name || '_by_trail_order', part.name);
			EXECUTE format('ALTER INDEX %I ATTACH PARTITION %I', 'audit_log_by_trail_order', part.name || '_by_trail_order');
		END IF;
	END LOOP;
	INSERT INTO "installation_facts" ("name", "value") VALUES ('trail', jsonb_build_object(
		'began', coalesce((extract(epoch from began) * 1000)::bigint, 0), 'sealedTo', 0));
END $$;
