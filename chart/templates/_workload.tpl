{{/*
All objects of one service. `context`: the service's own scope. `serves`: other pods or the ingress call it.
`public`: the ingress does. `calledBy`: services that call it. `restricted`: it may open connections only to `calls`
and, with `internet`, to public addresses on port 443.
*/}}
{{- define "svc.workload" -}}
{{ include "svc.serviceAccount" .context }}
---
{{ include "svc.deployment" .context }}
{{- $secrets := include (printf "%s.secrets" .context.Chart.Name) .context | trim }}
{{- if $secrets }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "svc.name" .context }}
  labels:
    {{- include "svc.labels" .context | nindent 4 }}
type: Opaque
stringData:
  {{- $secrets | nindent 2 }}
{{- end }}
{{- if .serves }}
---
{{ include "svc.service" .context }}
{{- end }}
{{- if .context.Values.podDisruptionBudget.enabled }}
---
{{ include "svc.podDisruptionBudget" .context }}
{{- end }}
{{- if .context.Values.autoscaling.enabled }}
---
{{ include "svc.autoscaler" .context }}
{{- end }}
{{- if .context.Values.global.networkPolicy.enabled }}
---
{{ include "svc.networkPolicy" . }}
{{- end }}
{{- end -}}

{{- define "svc.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "svc.name" . }}
  labels:
    {{- include "svc.labels" . | nindent 4 }}
  {{- if .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml .Values.serviceAccount.annotations | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}

{{- define "svc.deployment" -}}
{{- range $label := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/part-of" -}}
{{- if hasKey $.Values.podLabels $label -}}
{{- fail (printf "%s.podLabels: %s is set by the chart" $.Chart.Name $label) -}}
{{- end -}}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "svc.name" . }}
  labels:
    {{- include "svc.labels" . | nindent 4 }}
spec:
  {{- if not .Values.autoscaling.enabled }}
  replicas: {{ .Values.replicas }}
  {{- end }}
  strategy:
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels:
      {{- include "svc.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "svc.selector" . | nindent 8 }}
        app.kubernetes.io/part-of: svc
        {{- if .Values.podLabels }}
        {{- toYaml .Values.podLabels | nindent 8 }}
        {{- end }}
      annotations:
        # Settings are read at start: a changed secret means new pods.
        checksum/secrets: {{ printf "%s%s" (include "svc.sharedSecrets" .) (include (printf "%s.secrets" .Chart.Name) .) | sha256sum }}
        {{- if .Values.podAnnotations }}
        {{- toYaml .Values.podAnnotations | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "svc.name" . }}
      # Only the auth-service asks the cluster something.
      automountServiceAccountToken: {{ and (eq .Chart.Name "auth-service") (eq (include "svc.workloadIdentity" .) "yes") }}
      enableServiceLinks: false
      securityContext:
        {{- include "svc.podSecurity" . | nindent 8 }}
      {{- if .Values.global.image.pullSecrets }}
      {{- include "svc.pullSecrets" . | nindent 6 }}
      {{- end }}
      # preStop, STOP_DELAY_SECONDS, then STOP_SECONDS for open requests, then a rest.
      {{- $delay := default (default "0" .Values.global.settings.STOP_DELAY_SECONDS) .Values.settings.STOP_DELAY_SECONDS }}
      {{- $stop := default (default "25" .Values.global.settings.STOP_SECONDS) .Values.settings.STOP_SECONDS }}
      terminationGracePeriodSeconds: {{ add 20 (int $delay) (int $stop) }}
      containers:
        - name: {{ .Chart.Name }}
          image: {{ include "svc.image" . | quote }}
          imagePullPolicy: {{ .Values.global.image.pullPolicy }}
          securityContext:
            {{- include "svc.containerSecurity" . | nindent 12 }}
          env:
            {{- include "svc.settings" . | nindent 12 }}
            {{- $own := include (printf "%s.settings" .Chart.Name) . | trim }}
            {{- if $own }}
            {{- $own | nindent 12 }}
            {{- end }}
            {{- if include "svc.endingsClaim" . }}
            {{- include "svc.endingsSettings" . | nindent 12 }}
            {{- end }}
            {{- if include "svc.certificates" . }}
            {{- include "svc.certificateSettings" . | nindent 12 }}
            {{- end }}
          ports:
            - name: http
              containerPort: 4000
            {{- if .Values.global.metrics.enabled }}
            - name: metrics
              containerPort: 4001
            {{- end }}
          # The port opens after migrations, which may wait for those of another pod.
          startupProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 2
            failureThreshold: 150
          livenessProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet:
              path: /readyz
              port: http
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          lifecycle:
            preStop:
              exec:
                # Until every proxy knows that this pod is leaving.
                command: ["sleep", "5"]
          {{- if .Values.resources }}
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
          {{- end }}
          volumeMounts:
            - name: data
              mountPath: /var/lib/svc
            - name: tmp
              mountPath: /tmp
            {{- if include "svc.endingsClaim" . }}
            - name: endings
              mountPath: /var/lib/svc-endings
            {{- end }}
            {{- if include "svc.certificates" . }}
            {{- include "svc.certificateMount" . | nindent 12 }}
            {{- end }}
      volumes:
        - name: data
          emptyDir: {}
        - name: tmp
          emptyDir: {}
        {{- if include "svc.endingsClaim" . }}
        - name: endings
          persistentVolumeClaim:
            claimName: {{ include "svc.endingsClaim" . }}
        {{- end }}
        {{- if include "svc.certificates" . }}
        {{- include "svc.certificateVolume" . | nindent 8 }}
        {{- end }}
      {{- $scheduling := include "svc.scheduling" .Values | trim }}
      {{- if $scheduling }}
      {{- $scheduling | nindent 6 }}
      {{- end }}
{{- end -}}

{{- define "svc.certificateMount" -}}
- name: certificates
  mountPath: /etc/svc
  readOnly: true
{{- end -}}

{{- define "svc.certificateVolume" -}}
- name: certificates
  configMap:
    name: {{ include "svc.certificates" . }}
{{- end -}}

{{/* Where pods run; of a service's own values, or of the migration's. */}}
{{- define "svc.scheduling" -}}
{{- if .nodeSelector }}
nodeSelector:
  {{- toYaml .nodeSelector | nindent 2 }}
{{- end }}
{{- if .tolerations }}
tolerations:
  {{- toYaml .tolerations | nindent 2 }}
{{- end }}
{{- if .affinity }}
affinity:
  {{- toYaml .affinity | nindent 2 }}
{{- end }}
{{- if .topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .topologySpreadConstraints | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "svc.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "svc.name" . }}
  labels:
    {{- include "svc.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "svc.selector" . | nindent 4 }}
  ports:
    - name: http
      port: 4000
      targetPort: http
{{- end -}}

{{/* maxUnavailable, because minAvailable of a single replica would block every drain of its node. */}}
{{- define "svc.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "svc.name" . }}
  labels:
    {{- include "svc.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "svc.selector" . | nindent 6 }}
{{- end -}}

{{- define "svc.autoscaler" -}}
{{- $scaling := .Values.autoscaling -}}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) -}}
{{- fail (printf "%s.autoscaling.maxReplicas: must not be below minReplicas" .Chart.Name) -}}
{{- end -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "svc.name" . }}
  labels:
    {{- include "svc.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "svc.name" . }}
  minReplicas: {{ $scaling.minReplicas }}
  maxReplicas: {{ $scaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ $scaling.targetCPUUtilizationPercentage }}
{{- end -}}
