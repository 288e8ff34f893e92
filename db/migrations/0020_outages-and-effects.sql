CREATE TABLE "model_outages" (
	"org_id" text NOT NULL,
	"model" text NOT NULL,
	"failures" integer NOT NULL,
	"failed_at" timestamp with time zone NOT NULL,
	"left_alone_until" timestamp with time zone,
	CONSTRAINT "model_outages_org_id_model_pk" PRIMARY KEY("org_id","model")
);
--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "effect" jsonb;--> statement-breakpoint
ALTER TABLE "token_pools" ADD COLUMN "outage" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "model_outages_by_model" ON "model_outages" USING btree ("model","left_alone_until");--> statement-breakpoint
CREATE INDEX "proposals_deployed" ON "proposals" USING btree ("changed_at") WHERE state = 'deployed';--> statement-breakpoint
ALTER TABLE "token_pools" ADD CONSTRAINT "token_pools_outage" CHECK ("token_pools"."outage" >= 0);