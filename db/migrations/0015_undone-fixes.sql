ALTER TABLE "findings" ADD COLUMN "reopened_by" text;--> statement-breakpoint
ALTER TABLE "maintenance_runs" ADD COLUMN "undone_by" text;--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "undone_by" text;