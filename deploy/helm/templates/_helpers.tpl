{{- define "kontor.selector" -}}
app.kubernetes.io/name: kontor
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "kontor.labels" -}}
{{ include "kontor.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "kontor.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "kontor.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "kontor.settings" -}}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
- name: KONTOR_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ .Values.secrets.service.name }}, key: {{ .Values.secrets.service.databaseUrl }}}}
{{- end }}

{{- define "kontor.vaultKeys" -}}
- name: KONTOR_VAULT_KEYS
  valueFrom: {secretKeyRef: {name: {{ .Values.secrets.service.name }}, key: {{ .Values.secrets.service.vaultKeys }}}}
{{- end }}

{{- define "kontor.dagsterUrl" -}}
- name: KONTOR_DAGSTER_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ .Values.secrets.dagster.name }}, key: {{ .Values.secrets.dagster.databaseUrl }}}}
{{- end }}

{{- define "kontor.more" -}}
{{- with .Values.secrets.more }}
envFrom:
{{- range . }}
  - secretRef: {name: {{ .name }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "kontor.mounts" -}}
volumeMounts:
  - {name: data, mountPath: /var/lib/kontor}
  - {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "kontor.volumes" -}}
volumes:
  - name: data
    persistentVolumeClaim: {claimName: {{ .Values.data.existingClaim | default (printf "%s-data" .Release.Name) }}}
  - name: tmp
    emptyDir: {sizeLimit: 2Gi}
{{- end }}

{{- define "kontor.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "kontor.selector" . | nindent 8 }}
{{- end }}
