CREATE TABLE "app_remotes" (
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"host" text NOT NULL,
	"url" text NOT NULL,
	"sealed_token" text NOT NULL,
	"sealed_hook_secret" text,
	"excess" jsonb NOT NULL,
	"set_by_id" text NOT NULL,
	"set_by" text NOT NULL,
	"set_at" timestamp with time zone NOT NULL,
	CONSTRAINT "app_remotes_org_id_app_id_pk" PRIMARY KEY("org_id","app_id")
);
--> statement-breakpoint
CREATE TABLE "pull_requests" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"app_id" text NOT NULL,
	"ordinal" integer NOT NULL,
	"state" text NOT NULL,
	"code" text,
	"number" integer,
	"url" text,
	"landed_by" text,
	"requested_at" timestamp with time zone NOT NULL,
	"opened_at" timestamp with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"looked_at" timestamp with time zone,
	"next_at" timestamp with time zone,
	"lease_until" timestamp with time zone,
	"lease_token" text,
	CONSTRAINT "pull_requests_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
ALTER TABLE "proposals" ADD COLUMN "renamed_files" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "app_remotes" ADD CONSTRAINT "app_remotes_org_id_app_id_apps_org_id_id_fk" FOREIGN KEY ("org_id","app_id") REFERENCES "public"."apps"("org_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "pull_requests_by_app" ON "pull_requests" USING btree ("org_id","app_id","id");--> statement-breakpoint
CREATE INDEX "pull_requests_due" ON "pull_requests" USING btree ("next_at") WHERE next_at is not null;