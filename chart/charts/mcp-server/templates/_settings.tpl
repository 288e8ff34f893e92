{{- define "mcp-server.settings" -}}
{{- if eq .Values.global.auth.mode "self" }}
{{ include "svc.fromSecret" (dict "setting" "JWT_SECRET" "made" (include "svc.name" .) "existing" .Values.platform.existingSecret) }}
{{- end }}
{{ include "svc.actorAssertionSettings" . }}
{{- end -}}

{{- define "mcp-server.secrets" -}}
{{- if and .Values.platform.jwtSecret (not .Values.platform.existingSecret) }}
JWT_SECRET: {{ .Values.platform.jwtSecret | quote }}
{{- end }}
{{- end -}}
