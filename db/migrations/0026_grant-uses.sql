CREATE TABLE "grant_uses" (
	"org_id" text NOT NULL,
	"grant_id" text NOT NULL,
	"scope" text NOT NULL,
	"source_id" text NOT NULL,
	"calls" integer NOT NULL,
	"last_used_at" timestamp with time zone NOT NULL,
	CONSTRAINT "grant_uses_org_id_grant_id_scope_source_id_pk" PRIMARY KEY("org_id","grant_id","scope","source_id")
);
--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "uses_since" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "narrowing_told_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "ending_told_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "narrow_unused_after_days" integer;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "end_unused_after_days" integer;