ALTER TABLE "app_tokens" ADD COLUMN "rotated_by" text;--> statement-breakpoint
ALTER TABLE "app_tokens" ADD COLUMN "rotated_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "identity_links" ADD COLUMN "created_by" text;