{{/* "<release>-<part>". Release names have up to 53 characters, names of Services up to 63. */}}
{{- define "svc.nameOf" -}}
{{- printf "%s-%s" (trimSuffix "-" (trunc 48 .release)) .part -}}
{{- end -}}

{{- define "svc.name" -}}
{{- include "svc.nameOf" (dict "release" .Release.Name "part" .Chart.Name) -}}
{{- end -}}

{{/* The Secret with the values under `global`. */}}
{{- define "svc.sharedSecretName" -}}
{{- include "svc.nameOf" (dict "release" .Release.Name "part" "shared") -}}
{{- end -}}

{{/* How services reach each other. The server accepts these as Host, because it is told them as settings. */}}
{{- define "svc.urlOf" -}}
http://{{ include "svc.nameOf" . }}:4000
{{- end -}}

{{- define "svc.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "svc.labels" -}}
{{ include "svc.selector" . }}
app.kubernetes.io/part-of: svc
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* A service's own tag or digest goes before the shared one, so that the auth-service can be replaced first. */}}
{{- define "svc.image" -}}
{{- $image := .Values.global.image -}}
{{- $own := default (dict) .Values.image -}}
{{- if or $own.digest (and $image.digest (not $own.tag)) -}}
{{ $image.repository }}@{{ default $image.digest $own.digest }}
{{- else -}}
{{ $image.repository }}:{{ default (default .Chart.AppVersion $image.tag) $own.tag }}
{{- end -}}
{{- end -}}

{{- define "svc.pullSecrets" -}}
{{- if .Values.global.image.pullSecrets -}}
imagePullSecrets:
  {{- range .Values.global.image.pullSecrets }}
  - name: {{ . }}
  {{- end }}
{{- end -}}
{{- end -}}

{{/* The user of the image, unless the cluster chooses one for each namespace. */}}
{{- define "svc.podSecurity" -}}
runAsNonRoot: true
{{- if or (not (hasKey .Values.global "fixedUser")) .Values.global.fixedUser }}
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "svc.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end -}}
