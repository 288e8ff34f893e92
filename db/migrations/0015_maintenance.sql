ALTER TABLE "findings" ADD COLUMN "reopened_by" text;--> statement-breakpoint
ALTER TABLE "maintenance_runs" ADD COLUMN "undone_by" text;--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "undone_by" text;--> statement-breakpoint
ALTER TABLE "apps" ADD COLUMN "runner_commands" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "maintenance_settings" ADD COLUMN "allowed_classes" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
CREATE TABLE "maintenance_changes" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text,
	"user_id" text NOT NULL,
	"user_name" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "maintenance_changes_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "changed_by" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "decision_note" text;--> statement-breakpoint
CREATE INDEX "maintenance_changes_by_time" ON "maintenance_changes" USING btree ("org_id","at");
