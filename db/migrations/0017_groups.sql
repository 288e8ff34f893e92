CREATE TABLE "group_members" (
	"org_id" text NOT NULL,
	"group_id" text NOT NULL,
	"user_id" text NOT NULL,
	"membership_id" text NOT NULL,
	"added_at" timestamp with time zone NOT NULL,
	CONSTRAINT "group_members_org_id_group_id_user_id_pk" PRIMARY KEY("org_id","group_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "groups" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"created_by" text NOT NULL,
	CONSTRAINT "groups_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
CREATE INDEX "group_members_by_user" ON "group_members" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "groups_by_name" ON "groups" USING btree ("org_id",lower("name"));