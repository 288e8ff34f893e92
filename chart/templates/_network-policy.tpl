{{/* Who may call a service, and for those without a database, whom it may call. Takes the arguments of svc.workload. */}}
{{- define "svc.networkPolicy" -}}
{{- $context := .context -}}
{{- $global := .context.Values.global -}}
{{- $own := .context.Values.networkPolicy -}}
{{- if and $own.extraEgress (not .restricted) -}}
{{- fail (printf "%s.networkPolicy.extraEgress: only for services without a database; this one may call anything" $context.Chart.Name) -}}
{{- end -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "svc.name" $context }}
  labels:
    {{- include "svc.labels" $context | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "svc.selector" $context | nindent 6 }}
  policyTypes:
    - Ingress
    {{- if .restricted }}
    - Egress
    {{- end }}
  {{- $rules := include "svc.ingressRules" . | trim }}
  {{- if $rules }}
  ingress:
    {{- $rules | nindent 4 }}
  {{- else }}
  ingress: []
  {{- end }}
  {{- if .restricted }}
  egress:
    # Names are resolved wherever the cluster does that: policies see the port of the pods, which is 5353 in OpenShift.
    - ports:
        - port: 53
          protocol: UDP
        - port: 53
          protocol: TCP
        - port: 5353
          protocol: UDP
        - port: 5353
          protocol: TCP
    {{- range .calls }}
    - ports:
        - port: 4000
          protocol: TCP
      to:
        {{- include "svc.podsOf" (dict "release" $context.Release.Name "service" .) | nindent 8 }}
    {{- end }}
    {{- if .internet }}
    - ports:
        - port: 443
          protocol: TCP
      to:
        - ipBlock:
            cidr: 0.0.0.0/0
            except:
              - 10.0.0.0/8
              - 100.64.0.0/10
              - 127.0.0.0/8
              - 169.254.0.0/16
              - 172.16.0.0/12
              - 192.168.0.0/16
        - ipBlock:
            cidr: 2000::/3
    {{- end }}
    {{- if $own.extraEgress }}
    {{- toYaml $own.extraEgress | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end -}}

{{- define "svc.podsOf" -}}
- podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ .service }}
      app.kubernetes.io/instance: {{ .release }}
{{- end -}}

{{- define "svc.ingressRules" -}}
{{- $context := .context -}}
{{- $global := .context.Values.global -}}
{{- $own := .context.Values.networkPolicy -}}
{{- if .public }}
- ports:
    - port: 4000
      protocol: TCP
  {{- if $global.networkPolicy.ingressFrom }}
  from:
    {{- toYaml $global.networkPolicy.ingressFrom | nindent 4 }}
  {{- end }}
{{- end }}
{{- range .calledBy }}
- ports:
    - port: 4000
      protocol: TCP
  from:
    {{- include "svc.podsOf" (dict "release" $context.Release.Name "service" .) | nindent 4 }}
{{- end }}
{{- if $global.metrics.enabled }}
- ports:
    - port: 4001
      protocol: TCP
  {{- if $global.metrics.from }}
  from:
    {{- toYaml $global.metrics.from | nindent 4 }}
  {{- end }}
{{- end }}
{{- if $own.extraIngress }}
{{- toYaml $own.extraIngress | nindent 0 }}
{{- end }}
{{- end -}}
