{{/* One setting out of a Secret: an existing one, or the one that this chart makes from values. */}}
{{- define "svc.fromSecret" -}}
- name: {{ .setting }}
  valueFrom:
    secretKeyRef:
      name: {{ default .made .existing }}
      key: {{ .setting }}
{{- end -}}

{{/* A dollar sign would begin a reference to another variable. */}}
{{- define "svc.plain" -}}
{{ . | replace "$" "$$" | quote }}
{{- end -}}

{{/* A setting of Node itself. */}}
{{- define "svc.certificateSettings" -}}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/svc/ca.crt
{{- end -}}

{{/* The ConfigMap with certificates of private authorities, or nothing. Values of an older release have no such group. */}}
{{- define "svc.certificates" -}}
{{- $bundle := default (dict) .Values.global.caBundle -}}
{{- default "" $bundle.existingConfigMap -}}
{{- end -}}

{{/* "yes" or nothing. Values of a chart before 0.5.0 have no such group, or what somebody added to them: a part of it. */}}
{{- define "svc.workloadIdentity" -}}
{{- $workload := default (dict) .Values.global.workloadIdentity -}}
{{- if or (not (hasKey $workload "enabled")) $workload.enabled }}yes{{ end -}}
{{- end -}}

{{- define "svc.workloadAudience" -}}
{{- $workload := default (dict) .Values.global.workloadIdentity -}}
{{- default "svc-control-plane" $workload.audience -}}
{{- end -}}

{{/* What every service is told. */}}
{{- define "svc.settings" -}}
{{- $global := .Values.global -}}
{{- $release := .Release.Name -}}
- name: SVC_SERVICES
  value: {{ .Chart.Name }}
- name: HOST
  value: {{ $global.listenAddress | quote }}
- name: PORT
  value: "4000"
{{- if $global.metrics.enabled }}
- name: METRICS_HOST
  value: {{ $global.listenAddress | quote }}
- name: METRICS_PORT
  value: "4001"
{{- else }}
- name: METRICS_PORT
  value: "off"
{{- end }}
- name: SVC_DATA_DIR
  value: /var/lib/svc
- name: BASE_DOMAIN
  value: {{ $global.baseDomain | quote }}
- name: AUTH_MODE
  value: {{ $global.auth.mode }}
{{- if eq $global.auth.mode "hosted" }}
- name: AUTH_SERVICE_URL
  value: {{ $global.auth.serviceUrl | quote }}
- name: AUTH_LOGIN_URL
  value: {{ $global.auth.loginUrl | quote }}
- name: HOSTED_ORGS
  value: {{ join "," $global.auth.organizations | quote }}
{{- else }}
- name: AUTH_SERVICE_URL
  value: {{ include "svc.urlOf" (dict "release" $release "part" "auth-service") }}
{{- end }}
- name: GATEWAY_URL
  value: {{ include "svc.urlOf" (dict "release" $release "part" "api-gateway") }}
- name: DEPLOY_URL
  value: {{ include "svc.urlOf" (dict "release" $release "part" "deploy-api") }}
{{- if or $global.agentRunner.secret $global.agentRunner.existingSecret }}
- name: AGENT_RUNNER_URL
  value: {{ include "svc.urlOf" (dict "release" $release "part" "agent-runner") }}
{{- end }}
{{- if $global.trustedProxies }}
- name: TRUSTED_PROXIES
  value: {{ join "," $global.trustedProxies | quote }}
{{- end }}
{{- $plain := dict }}
{{- range $settings := list $global.settings .Values.settings }}
{{- range $setting, $value := $settings }}
{{- $_ := set $plain $setting $value }}
{{- end }}
{{- end }}
{{- range $setting, $value := $plain }}
- name: {{ $setting }}
  value: {{ include "svc.plain" $value }}
{{- end }}
{{- $service := .Chart.Name }}
{{- range $setting, $secret := .Values.settingsFrom }}
{{- if hasKey $plain $setting }}
{{- fail (printf "%s.settingsFrom.%s: is among the plain settings, too" $service $setting) }}
{{- end }}
{{ include "svc.fromSecret" (dict "setting" $setting "existing" $secret) }}
{{- end }}
{{- end -}}

{{- define "svc.databaseSettings" -}}
{{- $database := .Values.global.database -}}
{{ include "svc.fromSecret" (dict "setting" "DATABASE_URL" "made" (include "svc.sharedSecretName" .) "existing" $database.existingSecret) }}
{{- end -}}

{{/* The claim for the journal of endings, of services with a database, or nothing. Values of an older release have no such group. */}}
{{- define "svc.endingsClaim" -}}
{{- $journal := default (dict) .Values.global.endingsJournal -}}
{{- if or (eq .Chart.Name "auth-service") (eq .Chart.Name "api-gateway") (eq .Chart.Name "deploy-api") (eq .Chart.Name "worker") -}}
{{- default "" $journal.existingClaim -}}
{{- end -}}
{{- end -}}

{{/* Its entries are sealed; the others have the key anyway. */}}
{{- define "svc.endingsSettings" -}}
- name: ENDINGS_JOURNAL
  value: /var/lib/svc-endings
{{- if eq .Chart.Name "auth-service" }}
{{ include "svc.dataKeySettings" . }}
{{- end }}
{{- end -}}

{{/* For the services that create, watch or limit managed databases. */}}
{{- define "svc.managedDatabaseSettings" -}}
{{- $managed := .Values.global.managedDatabase -}}
{{- if or $managed.url $managed.existingSecret }}
{{ include "svc.fromSecret" (dict "setting" "MANAGED_DATABASE_URL" "made" (include "svc.sharedSecretName" .) "existing" $managed.existingSecret) }}
{{- end }}
{{- end -}}

{{- define "svc.dataKeySettings" -}}
{{ include "svc.fromSecret" (dict "setting" "DATA_KEY" "made" (include "svc.sharedSecretName" .) "existing" .Values.global.dataKey.existingSecret) }}
{{- end -}}

{{- define "svc.actorAssertionSettings" -}}
{{ include "svc.fromSecret" (dict "setting" "ACTOR_ASSERTION_SECRET" "made" (include "svc.sharedSecretName" .) "existing" .Values.global.platformConnector.existingSecret) }}
{{- end -}}

{{/* By which the agent-runner, the deploy-api and the worker know each other. */}}
{{- define "svc.agentRunnerSettings" -}}
{{- $runner := .Values.global.agentRunner -}}
{{- if or $runner.secret $runner.existingSecret }}
{{ include "svc.fromSecret" (dict "setting" "AGENT_RUNNER_SECRET" "made" (include "svc.sharedSecretName" .) "existing" $runner.existingSecret) }}
{{- end }}
{{- end -}}

{{/* The models that organizations may choose; their keys are the agent-runner's alone. */}}
{{- define "svc.modelSettings" -}}
{{- if .Values.global.agentRunner.models }}
- name: MAINTENANCE_MODELS
  value: {{ include "svc.plain" (toJson .Values.global.agentRunner.models) }}
{{- end }}
{{- end -}}

{{- define "svc.operatorSettings" -}}
{{- $operator := .Values.global.operator -}}
{{- if or $operator.token $operator.existingSecret }}
{{ include "svc.fromSecret" (dict "setting" "SVC_OPERATOR_TOKEN" "made" (include "svc.sharedSecretName" .) "existing" $operator.existingSecret) }}
{{- end }}
{{- end -}}

{{- define "svc.mailSettings" -}}
{{- $mail := .Values.global.mail -}}
{{- if or $mail.url $mail.existingSecret }}
{{ include "svc.fromSecret" (dict "setting" "SMTP_URL" "made" (include "svc.sharedSecretName" .) "existing" $mail.existingSecret) }}
- name: MAIL_FROM
  value: {{ include "svc.plain" $mail.from }}
{{- end }}
{{- end -}}

{{/* The keys of the shared Secret; nothing for values that an existing Secret holds. */}}
{{- define "svc.sharedSecrets" -}}
{{- $global := .Values.global -}}
{{- if not $global.database.existingSecret }}
DATABASE_URL: {{ $global.database.url | quote }}
{{- end }}
{{- if and $global.managedDatabase.url (not $global.managedDatabase.existingSecret) }}
MANAGED_DATABASE_URL: {{ $global.managedDatabase.url | quote }}
{{- end }}
{{- if not $global.dataKey.existingSecret }}
DATA_KEY: {{ $global.dataKey.value | quote }}
{{- end }}
{{- if not $global.platformConnector.existingSecret }}
ACTOR_ASSERTION_SECRET: {{ $global.platformConnector.actorAssertionSecret | quote }}
{{- end }}
{{- if and $global.agentRunner.secret (not $global.agentRunner.existingSecret) }}
AGENT_RUNNER_SECRET: {{ $global.agentRunner.secret | quote }}
{{- end }}
{{- if and $global.operator.token (not $global.operator.existingSecret) }}
SVC_OPERATOR_TOKEN: {{ $global.operator.token | quote }}
{{- end }}
{{- if and $global.mail.url (not $global.mail.existingSecret) }}
SMTP_URL: {{ $global.mail.url | quote }}
{{- end }}
{{- end -}}
