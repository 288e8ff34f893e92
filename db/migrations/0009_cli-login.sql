CREATE TABLE "cli_logins" (
	"secret_hash" text PRIMARY KEY NOT NULL,
	"user_code_hash" text,
	"redirect_uri" text,
	"state" text,
	"code_challenge" text,
	"client_name" text NOT NULL,
	"host_name" text,
	"address" text NOT NULL,
	"interval_seconds" integer NOT NULL,
	"polled_at" timestamp with time zone,
	"denied_at" timestamp with time zone,
	"session_id" text,
	"authorization_code_hash" text,
	"used_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "cli_logins_by_user_code" UNIQUE("user_code_hash"),
	CONSTRAINT "cli_logins_by_code" UNIQUE("authorization_code_hash")
);
--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "kind" text DEFAULT 'browser' NOT NULL;--> statement-breakpoint
ALTER TABLE "cli_logins" ADD CONSTRAINT "cli_logins_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "cli_logins_by_expiry" ON "cli_logins" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "cli_logins_by_session" ON "cli_logins" USING btree ("session_id");