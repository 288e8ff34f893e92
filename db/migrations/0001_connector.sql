CREATE TABLE "oauth_artifacts" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"payload" jsonb NOT NULL,
	"grant_id" text,
	"uid" text,
	"consumed_at" timestamp with time zone,
	"successor" text,
	"expires_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "oauth_metadata_documents" (
	"url" text PRIMARY KEY NOT NULL,
	"document" jsonb NOT NULL,
	"sha256" text NOT NULL,
	"fetched_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "organization_client_blocks" (
	"org_id" text NOT NULL,
	"client_id" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	CONSTRAINT "organization_client_blocks_org_id_client_id_pk" PRIMARY KEY("org_id","client_id")
);
--> statement-breakpoint
CREATE TABLE "platform_access_grants" (
	"id" text PRIMARY KEY NOT NULL,
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"client_id" text NOT NULL,
	"client_kind" text NOT NULL,
	"client_name" text,
	"redirect_host" text NOT NULL,
	"document_sha256" text,
	"resource" text NOT NULL,
	"scopes" text[] NOT NULL,
	"payload" jsonb NOT NULL,
	"key_epoch" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	"expires_at" timestamp with time zone NOT NULL,
	"revoked_at" timestamp with time zone,
	"revoked_reason" text
);
--> statement-breakpoint
CREATE TABLE "platform_oauth_clients" (
	"client_id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"is_active" boolean DEFAULT true NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"origin_key" text,
	"registration_hash" text,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	"expires_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "organization_client_blocks" ADD CONSTRAINT "organization_client_blocks_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD CONSTRAINT "platform_access_grants_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD CONSTRAINT "platform_access_grants_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "oauth_artifacts_by_grant" ON "oauth_artifacts" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "oauth_artifacts_by_uid" ON "oauth_artifacts" USING btree ("uid");--> statement-breakpoint
CREATE INDEX "oauth_artifacts_by_expiry" ON "oauth_artifacts" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "platform_access_grants_by_org" ON "platform_access_grants" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "platform_access_grants_by_user" ON "platform_access_grants" USING btree ("user_id","client_id");--> statement-breakpoint
CREATE INDEX "platform_access_grants_by_client" ON "platform_access_grants" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "platform_oauth_clients_dynamic" ON "platform_oauth_clients" USING btree ("kind","is_active","expires_at");--> statement-breakpoint
CREATE INDEX "platform_oauth_clients_by_registration" ON "platform_oauth_clients" USING btree ("registration_hash");