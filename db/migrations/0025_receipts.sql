CREATE TABLE "processes" (
	"name" text PRIMARY KEY NOT NULL,
	"until" timestamp with time zone NOT NULL,
	"is_remote" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "receipt_acknowledgements" (
	"receipt_id" text NOT NULL,
	"process" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"cut" jsonb NOT NULL,
	CONSTRAINT "receipt_acknowledgements_receipt_id_process_pk" PRIMARY KEY("receipt_id","process")
);
--> statement-breakpoint
CREATE TABLE "receipts" (
	"id" text PRIMARY KEY NOT NULL,
	"org_id" text NOT NULL,
	"of_kind" text NOT NULL,
	"of_id" text NOT NULL,
	"of_name" text NOT NULL,
	"by_id" text,
	"by_name" text NOT NULL,
	"is_rehearsal" boolean NOT NULL,
	"began_at" timestamp with time zone NOT NULL,
	"ended" jsonb NOT NULL,
	"remains" jsonb NOT NULL,
	"whose" jsonb NOT NULL,
	"final_at" timestamp with time zone,
	"signed" text,
	"signature" text
);
--> statement-breakpoint
CREATE TABLE "removed_organizations" (
	"org_id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"removed_at" timestamp with time zone NOT NULL,
	"emptied_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "receipt_acknowledgements" ADD CONSTRAINT "receipt_acknowledgements_receipt_id_receipts_id_fk" FOREIGN KEY ("receipt_id") REFERENCES "public"."receipts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "receipts_by_organization" ON "receipts" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "receipts_pending" ON "receipts" USING btree ("id") WHERE "receipts"."final_at" is null;