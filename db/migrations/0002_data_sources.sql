CREATE TABLE "activity" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"type" text NOT NULL,
	"name" text,
	"source_id" text,
	"user_id" text NOT NULL,
	"user_name" text NOT NULL,
	"door" text NOT NULL,
	"client_id" text,
	"outcome" text NOT NULL,
	"error" text,
	"duration_ms" integer NOT NULL,
	"question_bytes" integer NOT NULL,
	"answer_bytes" integer NOT NULL,
	"hits" integer,
	"question_digest" text,
	"answer_digest" text,
	"request_id" text NOT NULL,
	CONSTRAINT "activity_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "data_sources" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"kind" text NOT NULL,
	"physical_name" text,
	"verifier" text,
	"sealed" text NOT NULL,
	"preparing_until" timestamp with time zone,
	"enabled" boolean DEFAULT false NOT NULL,
	"exposed" boolean DEFAULT false NOT NULL,
	"minimum_role" text DEFAULT 'viewer' NOT NULL,
	"configuration" jsonb,
	"configured_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text,
	CONSTRAINT "data_sources_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "question_counts" (
	"org_id" text PRIMARY KEY NOT NULL,
	"minute" timestamp with time zone NOT NULL,
	"in_minute" integer NOT NULL,
	"day" timestamp with time zone NOT NULL,
	"in_day" integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "sources" text[];--> statement-breakpoint
CREATE INDEX "activity_by_type" ON "activity" USING btree ("org_id","type","id");--> statement-breakpoint
CREATE INDEX "activity_by_user" ON "activity" USING btree ("org_id","user_id","id");--> statement-breakpoint
CREATE INDEX "activity_by_name" ON "activity" USING btree ("org_id","name","id");--> statement-breakpoint
CREATE UNIQUE INDEX "data_sources_by_name" ON "data_sources" USING btree ("org_id","name");--> statement-breakpoint
CREATE UNIQUE INDEX "data_sources_by_physical_name" ON "data_sources" USING btree ("physical_name");