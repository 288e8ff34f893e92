CREATE TABLE "evals" (
	"org_id" text NOT NULL,
	"id" text NOT NULL,
	"source_id" text NOT NULL,
	"questions" integer NOT NULL,
	"asked" integer DEFAULT 0 NOT NULL,
	"totals" jsonb NOT NULL,
	"scores" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"models" jsonb NOT NULL,
	"configured_at" timestamp with time zone,
	"rows" bigint,
	"rows_changed_at" timestamp with time zone,
	"changes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_by" text NOT NULL,
	"created_by_name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "evals_org_id_id_pk" PRIMARY KEY("org_id","id")
);
--> statement-breakpoint
ALTER TABLE "data_sources" ADD COLUMN "threshold" jsonb;--> statement-breakpoint
ALTER TABLE "evals" ADD CONSTRAINT "evals_org_id_source_id_data_sources_org_id_id_fk" FOREIGN KEY ("org_id","source_id") REFERENCES "public"."data_sources"("org_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "evals_by_source" ON "evals" USING btree ("org_id","source_id","id");