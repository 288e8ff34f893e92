ALTER TABLE "app_tokens" ADD COLUMN "previous_hash" text;--> statement-breakpoint
ALTER TABLE "app_tokens" ADD COLUMN "previous_starts_with" text;--> statement-breakpoint
ALTER TABLE "app_tokens" ADD COLUMN "previous_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "app_tokens" ADD COLUMN "previous_last_used_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "machine_agent_credentials" ADD COLUMN "replaced_by" text;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "rotated_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "previous_hash" text;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "previous_starts_with" text;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "previous_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "previous_last_used_at" timestamp with time zone;--> statement-breakpoint
CREATE UNIQUE INDEX "app_tokens_by_previous" ON "app_tokens" USING btree ("org_id","previous_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "api_tokens_by_previous" ON "api_tokens" USING btree ("previous_hash");