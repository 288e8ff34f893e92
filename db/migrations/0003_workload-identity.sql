CREATE TABLE "workload_bindings" (
	"id" text PRIMARY KEY NOT NULL,
	"org_id" text NOT NULL,
	"app_id" text NOT NULL,
	"app_alias" text NOT NULL,
	"namespace" text NOT NULL,
	"service_account" text NOT NULL,
	"uid" text NOT NULL,
	"created_by" text NOT NULL,
	"created_by_name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "workload_pods" (
	"binding_id" text NOT NULL,
	"pod_uid" text NOT NULL,
	"pod_name" text NOT NULL,
	"first_seen_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "workload_pods_binding_id_pod_uid_pk" PRIMARY KEY("binding_id","pod_uid")
);
--> statement-breakpoint
ALTER TABLE "workload_bindings" ADD CONSTRAINT "workload_bindings_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workload_pods" ADD CONSTRAINT "workload_pods_binding_id_workload_bindings_id_fk" FOREIGN KEY ("binding_id") REFERENCES "public"."workload_bindings"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "workload_bindings_by_account" ON "workload_bindings" USING btree ("namespace","service_account","uid");--> statement-breakpoint
CREATE INDEX "workload_bindings_by_app" ON "workload_bindings" USING btree ("org_id","app_id","id");