CREATE TABLE "inbox" (
	"org_id" text NOT NULL,
	"user_id" text NOT NULL,
	"id" text NOT NULL,
	"event_id" text NOT NULL,
	"type" text NOT NULL,
	"subject" text NOT NULL,
	"summary" text NOT NULL,
	"url" text,
	"at" timestamp with time zone NOT NULL,
	"read_at" timestamp with time zone,
	CONSTRAINT "inbox_org_id_user_id_id_pk" PRIMARY KEY("org_id","user_id","id")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "inbox_by_event" ON "inbox" USING btree ("org_id","user_id","event_id");--> statement-breakpoint
CREATE INDEX "inbox_unread" ON "inbox" USING btree ("org_id","user_id","read_at");