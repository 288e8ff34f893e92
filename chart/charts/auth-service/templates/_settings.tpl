{{- define "auth-service.settings" -}}
{{ include "svc.databaseSettings" . }}
{{ include "svc.fromSecret" (dict "setting" "JWT_SECRET" "made" (include "svc.name" .) "existing" .Values.jwt.existingSecret) }}
{{ include "svc.fromSecret" (dict "setting" "JWT_SIGNING_KEY" "made" (include "svc.name" .) "existing" .Values.jwt.existingSecret) }}
{{ include "svc.actorAssertionSettings" . }}
{{- include "svc.operatorSettings" . }}
{{- include "svc.mailSettings" . }}
{{- if .Values.redirectBaseUrl }}
- name: REDIRECT_BASE_URL
  value: {{ .Values.redirectBaseUrl | quote }}
{{- end }}
{{- if .Values.allowedRedirectBaseUrls }}
- name: ALLOWED_REDIRECT_BASE_URLS
  value: {{ .Values.allowedRedirectBaseUrls | quote }}
{{- end }}
{{- if .Values.google.clientId }}
- name: GOOGLE_CLIENT_ID
  value: {{ .Values.google.clientId | quote }}
{{ include "svc.fromSecret" (dict "setting" "GOOGLE_CLIENT_SECRET" "made" (include "svc.name" .) "existing" .Values.google.existingSecret) }}
{{- end }}
{{- if .Values.microsoft.clientId }}
- name: MICROSOFT_CLIENT_ID
  value: {{ .Values.microsoft.clientId | quote }}
{{ include "svc.fromSecret" (dict "setting" "MICROSOFT_CLIENT_SECRET" "made" (include "svc.name" .) "existing" .Values.microsoft.existingSecret) }}
{{- if .Values.microsoft.tenantId }}
- name: MICROSOFT_TENANT_ID
  value: {{ .Values.microsoft.tenantId | quote }}
{{- end }}
{{- end }}
{{- if .Values.oidc.clientId }}
- name: OIDC_CLIENT_ID
  value: {{ .Values.oidc.clientId | quote }}
{{ include "svc.fromSecret" (dict "setting" "OIDC_CLIENT_SECRET" "made" (include "svc.name" .) "existing" .Values.oidc.existingSecret) }}
{{- if .Values.oidc.issuer }}
- name: OIDC_ISSUER
  value: {{ .Values.oidc.issuer | quote }}
{{- end }}
{{- if .Values.oidc.title }}
- name: OIDC_TITLE
  value: {{ include "svc.plain" .Values.oidc.title }}
{{- end }}
{{- end }}
{{- if .Values.firstOwner.email }}
- name: SVC_ADMIN_EMAIL
  value: {{ .Values.firstOwner.email | quote }}
{{- end }}
{{- if or .Values.firstOwner.password .Values.firstOwner.existingSecret }}
{{ include "svc.fromSecret" (dict "setting" "SVC_ADMIN_PASSWORD" "made" (include "svc.name" .) "existing" .Values.firstOwner.existingSecret) }}
{{- end }}
{{- if .Values.firstOwner.organization }}
- name: SVC_ORG
  value: {{ include "svc.plain" .Values.firstOwner.organization }}
{{- end }}
{{- if include "svc.workloadIdentity" . }}
- name: WORKLOAD_AUDIENCE
  value: {{ include "svc.workloadAudience" . | quote }}
{{- $workload := default (dict) .Values.global.workloadIdentity }}
{{- if $workload.namespaces }}
- name: WORKLOAD_NAMESPACES
  value: {{ $workload.namespaces | quote }}
{{- end }}
{{- else }}
- name: WORKLOAD_IDENTITY_ENABLED
  value: "false"
{{- end }}
{{- end -}}

{{- define "auth-service.secrets" -}}
{{- if and .Values.jwt.secret (not .Values.jwt.existingSecret) }}
JWT_SECRET: {{ .Values.jwt.secret | quote }}
{{- end }}
{{- if and .Values.jwt.signingKey (not .Values.jwt.existingSecret) }}
JWT_SIGNING_KEY: {{ .Values.jwt.signingKey | quote }}
{{- end }}
{{- if and .Values.google.clientSecret (not .Values.google.existingSecret) }}
GOOGLE_CLIENT_SECRET: {{ .Values.google.clientSecret | quote }}
{{- end }}
{{- if and .Values.microsoft.clientSecret (not .Values.microsoft.existingSecret) }}
MICROSOFT_CLIENT_SECRET: {{ .Values.microsoft.clientSecret | quote }}
{{- end }}
{{- if and .Values.oidc.clientSecret (not .Values.oidc.existingSecret) }}
OIDC_CLIENT_SECRET: {{ .Values.oidc.clientSecret | quote }}
{{- end }}
{{- if and .Values.firstOwner.password (not .Values.firstOwner.existingSecret) }}
SVC_ADMIN_PASSWORD: {{ .Values.firstOwner.password | quote }}
{{- end }}
{{- end -}}
