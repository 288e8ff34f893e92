{{- define "worker.settings" -}}
{{ include "svc.databaseSettings" . }}
{{- include "svc.managedDatabaseSettings" . }}
{{ include "svc.dataKeySettings" . }}
{{- include "svc.mailSettings" . }}
{{- include "svc.agentRunnerSettings" . }}
{{- include "svc.modelSettings" . }}
{{- end -}}

{{- define "worker.secrets" -}}
{{- end -}}
