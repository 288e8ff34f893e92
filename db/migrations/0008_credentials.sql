ALTER TABLE "app_tokens" ADD COLUMN "key_epoch" text;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "role_cap" text DEFAULT 'owner' NOT NULL;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "carries_app_roles" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "machine_agent_credentials" ADD COLUMN "key_epoch" text;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD COLUMN "carries_app_roles" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "role_cap" text DEFAULT 'owner' NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "carries_app_roles" boolean DEFAULT true NOT NULL;--> statement-breakpoint
UPDATE "api_tokens" SET "carries_app_roles" = true WHERE "role_cap" <> 'viewer';--> statement-breakpoint
UPDATE "platform_access_grants" SET "role_cap" = "machine_agents"."role", "carries_app_roles" = false FROM "machine_agents" WHERE "machine_agents"."id" = "platform_access_grants"."machine_agent_id";
