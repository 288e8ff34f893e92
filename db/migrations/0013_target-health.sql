ALTER TABLE "attempts" ADD COLUMN "response_withheld" boolean;--> statement-breakpoint
ALTER TABLE "message_targets" ADD COLUMN "answer_ms" integer;--> statement-breakpoint
UPDATE "subscriptions" SET "timing" = 'hourly' WHERE "timing" = 'immediately' AND "default_key" LIKE 'deliveries:%';
