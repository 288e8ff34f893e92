{{- define "deploy-api.settings" -}}
{{ include "svc.databaseSettings" . }}
{{ include "svc.dataKeySettings" . }}
{{- if eq .Values.global.auth.mode "hosted" }}
{{ include "svc.actorAssertionSettings" . }}
{{- end }}
{{- include "svc.agentRunnerSettings" . }}
{{- include "svc.modelSettings" . }}
- name: SVC_WORKLOAD_AUDIENCE
  {{- if and (include "svc.workloadIdentity" .) (eq .Values.global.auth.mode "self") }}
  value: {{ include "svc.workloadAudience" . | quote }}
  {{- else }}
  # Empty is a value: it turns workload identity off.
  value: ""
  {{- end }}
{{- end -}}

{{- define "deploy-api.secrets" -}}
{{- end -}}
