DROP INDEX "proposals_deployed";--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "restored_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "deployed_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "measured_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "model_outages" ADD COLUMN "provider_failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE "proposals" AS p SET "deployed_at" = coalesce(
	(SELECT d."ended_at" FROM "deployments" d WHERE d."org_id" = p."org_id" AND d."id" = p."deployment_id" AND d."state" = 'succeeded'),
	p."changed_at") WHERE p."state" = 'deployed';--> statement-breakpoint
CREATE INDEX "proposals_deployed" ON "proposals" USING btree ("deployed_at") WHERE state = 'deployed';