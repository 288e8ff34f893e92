CREATE TABLE "provisioned_groups" (
	"org_id" text NOT NULL,
	"group_id" text NOT NULL,
	"external_id" text,
	"role" text,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "provisioned_groups_org_id_group_id_pk" PRIMARY KEY("org_id","group_id")
);
--> statement-breakpoint
CREATE TABLE "provisioned_people" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"bearer_id" text NOT NULL,
	"user_name" text NOT NULL,
	"email" text NOT NULL,
	"external_id" text,
	"display_name" text,
	"given_name" text,
	"family_name" text,
	"active" boolean NOT NULL,
	"active_since" timestamp with time zone NOT NULL,
	"user_id" text,
	"role" text,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone,
	CONSTRAINT "provisioned_people_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE TABLE "provisioned_places" (
	"org_id" text NOT NULL,
	"group_id" text NOT NULL,
	"person_id" text NOT NULL,
	CONSTRAINT "provisioned_places_org_id_group_id_person_id_pk" PRIMARY KEY("org_id","group_id","person_id")
);
--> statement-breakpoint
CREATE TABLE "scim_bearers" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"provider" text NOT NULL,
	"issuer" text NOT NULL,
	"starts_with" text NOT NULL,
	"secret_hash" text NOT NULL,
	"key_epoch" text,
	"created_by" text NOT NULL,
	"created_by_name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"rotated_by" text,
	"rotated_at" timestamp with time zone,
	"last_used_at" timestamp with time zone,
	"full_until" timestamp with time zone NOT NULL,
	"previous_hash" text,
	"previous_starts_with" text,
	"previous_until" timestamp with time zone,
	"previous_last_used_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "scim_bearers_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
ALTER TABLE "group_members" ADD COLUMN "provisioned" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "provisioned_groups" ADD CONSTRAINT "provisioned_groups_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "provisioned_people" ADD CONSTRAINT "provisioned_people_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "provisioned_people" ADD CONSTRAINT "provisioned_people_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "provisioned_places" ADD CONSTRAINT "provisioned_places_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "scim_bearers" ADD CONSTRAINT "scim_bearers_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "provisioned_people_by_name" ON "provisioned_people" USING btree ("org_id",lower("user_name")) WHERE "provisioned_people"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "provisioned_people_by_email" ON "provisioned_people" USING btree ("org_id","email") WHERE "provisioned_people"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "provisioned_people_by_external_id" ON "provisioned_people" USING btree ("org_id","external_id") WHERE "provisioned_people"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "provisioned_people_by_user" ON "provisioned_people" USING btree ("org_id","user_id") WHERE "provisioned_people"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "provisioned_people_by_address" ON "provisioned_people" USING btree ("email","org_id","id");--> statement-breakpoint
CREATE INDEX "provisioned_people_of_name" ON "provisioned_people" USING btree ("org_id",lower("user_name"),"id");--> statement-breakpoint
CREATE INDEX "provisioned_people_by_subject" ON "provisioned_people" USING btree ("external_id");--> statement-breakpoint
CREATE INDEX "provisioned_people_of_user" ON "provisioned_people" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "provisioned_places_by_person" ON "provisioned_places" USING btree ("org_id","person_id");--> statement-breakpoint
CREATE UNIQUE INDEX "scim_bearers_by_organization" ON "scim_bearers" USING btree ("org_id") WHERE "scim_bearers"."revoked_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "scim_bearers_by_secret" ON "scim_bearers" USING btree ("secret_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "scim_bearers_by_previous" ON "scim_bearers" USING btree ("previous_hash");--> statement-breakpoint
CREATE INDEX "scim_bearers_by_issuer" ON "scim_bearers" USING btree ("issuer");