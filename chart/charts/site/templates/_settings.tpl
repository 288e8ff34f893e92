{{- define "site.settings" -}}
{{- end -}}

{{- define "site.secrets" -}}
{{- end -}}
