{{- /* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "buckle.labels" -}}
app.kubernetes.io/name: buckle
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "buckle.selector" -}}
app.kubernetes.io/name: buckle
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* What a container needs that only computes and speaks to the network. */}}
{{- define "buckle.unprivileged" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* What keeps and judges containers from outside. tests/e2e/e2e-node-rights.py shows what fails without each. */}}
{{- define "buckle.judging" -}}
runAsUser: 0
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
  add:
    # to join a container's namespaces, and to read its calls and descriptors
    - SYS_ADMIN
    - SYS_PTRACE
    - SYS_CHROOT
    # to act with the rights of the calling process: what engines give to containers
    - CHOWN
    - DAC_OVERRIDE
    - FOWNER
    - FSETID
    - KILL
    - MKNOD
    - SETFCAP
    - SETGID
    - SETUID
seccompProfile: {type: Unconfined}
appArmorProfile: {type: Unconfined}
{{- end }}
