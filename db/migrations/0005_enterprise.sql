CREATE TABLE "assertion_refusals" (
	"id" text PRIMARY KEY NOT NULL,
	"provider_id" text NOT NULL,
	"client_id" text,
	"reason" text NOT NULL,
	"subject" text,
	"key_id" text,
	"refused_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "assertion_uses" (
	"id" text PRIMARY KEY NOT NULL,
	"provider_id" text NOT NULL,
	"client_id" text NOT NULL,
	"grant_id" text NOT NULL,
	"used_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "identity_links" (
	"id" text PRIMARY KEY NOT NULL,
	"provider_id" text NOT NULL,
	"subject" text NOT NULL,
	"user_id" text NOT NULL,
	"linked_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "identity_provider_clients" (
	"provider_id" text NOT NULL,
	"client_id" text NOT NULL,
	"kind" text NOT NULL,
	"name" text,
	"may_be_public" boolean DEFAULT false NOT NULL,
	"max_scopes" text[] NOT NULL,
	"resources" text[] NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	CONSTRAINT "identity_provider_clients_provider_id_client_id_pk" PRIMARY KEY("provider_id","client_id")
);
--> statement-breakpoint
CREATE TABLE "identity_provider_rules" (
	"provider_id" text NOT NULL,
	"position" integer NOT NULL,
	"claim" text,
	"value" text,
	"scopes" text[] NOT NULL,
	"sources" text[],
	CONSTRAINT "identity_provider_rules_provider_id_position_pk" PRIMARY KEY("provider_id","position")
);
--> statement-breakpoint
CREATE TABLE "machine_agent_credentials" (
	"id" text PRIMARY KEY NOT NULL,
	"agent_id" text NOT NULL,
	"kind" text NOT NULL,
	"secret_hash" text,
	"starts_with" text,
	"public_key" jsonb,
	"created_by" text,
	"made_with_token_id" text,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	"expires_at" timestamp with time zone,
	"revoked_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "machine_agents" (
	"id" text PRIMARY KEY NOT NULL,
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"client_id" text NOT NULL,
	"owner_id" text NOT NULL,
	"owner_membership_id" text NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"removed_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "organization_identity_providers" (
	"id" text PRIMARY KEY NOT NULL,
	"org_id" text NOT NULL,
	"name" text NOT NULL,
	"issuer" text NOT NULL,
	"tenant_claim" text DEFAULT '' NOT NULL,
	"tenant_value" text DEFAULT '' NOT NULL,
	"jwks_uri" text NOT NULL,
	"state" text NOT NULL,
	"linking" text DEFAULT 'admin' NOT NULL,
	"default_scopes" text[] NOT NULL,
	"assertion_seconds" integer NOT NULL,
	"token_minutes" integer NOT NULL,
	"is_required" boolean DEFAULT false NOT NULL,
	"edition" integer DEFAULT 1 NOT NULL,
	"proven_by" text,
	"proven_at" timestamp with time zone,
	"proven_domain" text,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "via" text DEFAULT 'consent' NOT NULL;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "identity_provider_id" text;--> statement-breakpoint
ALTER TABLE "platform_access_grants" ADD COLUMN "machine_agent_id" text;--> statement-breakpoint
ALTER TABLE "platform_oauth_clients" ADD COLUMN "org_id" text;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "kind" text DEFAULT 'person' NOT NULL;--> statement-breakpoint
ALTER TABLE "assertion_refusals" ADD CONSTRAINT "assertion_refusals_provider_id_organization_identity_providers_id_fk" FOREIGN KEY ("provider_id") REFERENCES "public"."organization_identity_providers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identity_links" ADD CONSTRAINT "identity_links_provider_id_organization_identity_providers_id_fk" FOREIGN KEY ("provider_id") REFERENCES "public"."organization_identity_providers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identity_links" ADD CONSTRAINT "identity_links_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identity_provider_clients" ADD CONSTRAINT "identity_provider_clients_provider_id_organization_identity_providers_id_fk" FOREIGN KEY ("provider_id") REFERENCES "public"."organization_identity_providers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identity_provider_rules" ADD CONSTRAINT "identity_provider_rules_provider_id_organization_identity_providers_id_fk" FOREIGN KEY ("provider_id") REFERENCES "public"."organization_identity_providers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "machine_agent_credentials" ADD CONSTRAINT "machine_agent_credentials_agent_id_machine_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."machine_agents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "machine_agent_credentials" ADD CONSTRAINT "machine_agent_credentials_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "machine_agents" ADD CONSTRAINT "machine_agents_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "machine_agents" ADD CONSTRAINT "machine_agents_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "machine_agents" ADD CONSTRAINT "machine_agents_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_identity_providers" ADD CONSTRAINT "organization_identity_providers_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_identity_providers" ADD CONSTRAINT "organization_identity_providers_proven_by_users_id_fk" FOREIGN KEY ("proven_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "assertion_refusals_by_provider" ON "assertion_refusals" USING btree ("provider_id","id");--> statement-breakpoint
CREATE INDEX "assertion_uses_by_expiry" ON "assertion_uses" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "identity_links_by_subject" ON "identity_links" USING btree ("provider_id","subject");--> statement-breakpoint
CREATE INDEX "identity_links_by_user" ON "identity_links" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "identity_provider_clients_by_client" ON "identity_provider_clients" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "machine_agent_credentials_by_agent" ON "machine_agent_credentials" USING btree ("agent_id","id");--> statement-breakpoint
CREATE INDEX "machine_agent_credentials_by_creator" ON "machine_agent_credentials" USING btree ("created_by");--> statement-breakpoint
CREATE INDEX "machine_agent_credentials_by_token" ON "machine_agent_credentials" USING btree ("made_with_token_id");--> statement-breakpoint
CREATE INDEX "machine_agents_by_org" ON "machine_agents" USING btree ("org_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "machine_agents_by_client" ON "machine_agents" USING btree ("client_id");--> statement-breakpoint
CREATE UNIQUE INDEX "machine_agents_by_user" ON "machine_agents" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "machine_agents_by_owner" ON "machine_agents" USING btree ("owner_id");--> statement-breakpoint
CREATE UNIQUE INDEX "organization_identity_providers_by_org" ON "organization_identity_providers" USING btree ("org_id");--> statement-breakpoint
CREATE UNIQUE INDEX "organization_identity_providers_by_issuer" ON "organization_identity_providers" USING btree ("issuer","tenant_value") WHERE state = 'on';--> statement-breakpoint
ALTER TABLE "platform_oauth_clients" ADD CONSTRAINT "platform_oauth_clients_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "platform_access_grants_by_provider" ON "platform_access_grants" USING btree ("identity_provider_id","user_id","client_id","resource") WHERE identity_provider_id is not null and revoked_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX "platform_access_grants_by_machine_agent" ON "platform_access_grants" USING btree ("machine_agent_id","resource") WHERE machine_agent_id is not null and revoked_at is null;--> statement-breakpoint
CREATE INDEX "platform_oauth_clients_by_org" ON "platform_oauth_clients" USING btree ("org_id");