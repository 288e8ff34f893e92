{{- define "agent-runner.settings" -}}
{{- include "svc.agentRunnerSettings" . }}
{{- if or .Values.global.agentRunner.models .Values.existingSecret }}
{{ include "svc.fromSecret" (dict "setting" "MAINTENANCE_MODELS" "made" (include "svc.name" .) "existing" .Values.existingSecret) }}
{{- end }}
{{- end -}}

{{/* It alone has the keys of models. */}}
{{- define "agent-runner.secrets" -}}
{{- if and .Values.global.agentRunner.models (not .Values.existingSecret) }}
{{- $models := dict }}
{{- range $name, $model := .Values.global.agentRunner.models }}
{{- $key := index $.Values.keys $name }}
{{- if $key }}
{{- $_ := set $models $name (merge (dict "key" $key) $model) }}
{{- else }}
{{- $_ := set $models $name $model }}
{{- end }}
{{- end }}
MAINTENANCE_MODELS: {{ toJson $models | quote }}
{{- end }}
{{- end -}}
