{{- define "console.settings" -}}
{{- end -}}

{{- define "console.secrets" -}}
{{- end -}}
