{{- define "api-gateway.settings" -}}
{{ include "svc.databaseSettings" . }}
{{- include "svc.managedDatabaseSettings" . }}
{{ include "svc.dataKeySettings" . }}
{{- if eq .Values.global.auth.mode "hosted" }}
{{ include "svc.actorAssertionSettings" . }}
{{- end }}
{{- include "svc.operatorSettings" . }}
{{- include "svc.mailSettings" . }}
{{- end -}}

{{- define "api-gateway.secrets" -}}
{{- end -}}
