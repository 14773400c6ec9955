import { text, type Warning, type WarningPolicy } from './policy.ts'

/** Labels of other providers, and of earlier versions of Azure's, by the part after the slash, with the label that nodes have here. */
const ownLabels: Readonly<Record<string, string>> = {
  'instance-category': 'karpenter.azure.com/sku-family, such as D',
  'instance-family': 'karpenter.azure.com/sku-series, such as Dds_v5',
  'instance-generation': 'karpenter.azure.com/sku-version, such as Gt 4',
  'instance-size': 'karpenter.azure.com/sku-cpu, such as 4',
  'instance-cpu': 'karpenter.azure.com/sku-cpu, such as 4',
  'instance-memory': 'karpenter.azure.com/sku-memory in MiB, such as 16384',
  'instance-gpu-name': 'karpenter.azure.com/sku-gpu-name, such as A100',
  'instance-gpu-count': 'karpenter.azure.com/sku-gpu-count, such as 1',
  'instance-gpu-manufacturer': 'karpenter.azure.com/sku-gpu-manufacturer, such as nvidia',
  'instance-local-nvme': 'karpenter.azure.com/sku-storage-ephemeralos-maxsize in GB, such as Gt 127',
  'zone-id': 'topology.kubernetes.io/zone, such as eastus-1',
  zone: 'topology.kubernetes.io/zone, such as eastus-1',
  capacityType: 'karpenter.sh/capacity-type, such as spot',
  'gke-spot': 'karpenter.sh/capacity-type, such as spot',
  'sku-name': 'karpenter.azure.com/sku-name, such as Standard_D4s_v5',
  'sku-family': 'karpenter.azure.com/sku-family, such as D',
  'sku-version': 'karpenter.azure.com/sku-version, such as 5',
  'sku-cpu': 'karpenter.azure.com/sku-cpu, such as 4',
  'sku-memory': 'karpenter.azure.com/sku-memory in MiB, such as 16384',
  'sku-gpu-name': 'karpenter.azure.com/sku-gpu-name, such as A100',
  'sku-gpu-count': 'karpenter.azure.com/sku-gpu-count, such as 1',
}

const domains = '^([^/]*[.])?(k8s[.]aws|amazonaws[.]com|csi[.]aws[.]com|k8s[.]gcp|google[.]com|gke[.]io|k8s[.]azure)/'
const map = `{${Object.entries(ownLabels)
  .map(([name, own]) => `${text(name)}: ${text(own)}`)
  .join(', ')}}`

/** Keys of requirements that no size and no zone of Azure has. */
export const foreignKeys = `variables.requirements.filter(r, r.key.matches(${text(domains)})).map(r, r.key)`

const own = `(k.split('/')[1] in ${map} ? k + ': use ' + ${map}[k.split('/')[1]] : k + ': remove it')`
/** A message of thousands of characters would be dropped. */
const shownKeys = '(variables.foreignKeys.size() > 10 ? [variables.foreignKeys[0]] : variables.foreignKeys)'

export const foreignKeyWarning: Warning = {
  because: 'noEffect',
  holds: 'variables.foreignKeys.size() == 0',
  message: `'spec.template.spec.requirements: labels of other providers have no effect on the choice of sizes; ' + ${shownKeys}.map(k, ${own}).join('; ')`,
}

export const otherProviders: WarningPolicy = {
  name: 'joiner-other-providers',
  about: [{ apiGroup: 'karpenter.sh', apiVersions: ['v1'], kind: 'NodePool' }],
  matchConditions: {
    'of-another-class':
      "object.spec.template.spec.nodeClassRef.group != 'karpenter.azure.com' || object.spec.template.spec.nodeClassRef.kind != 'AKSNodeClass'",
  },
  warnings: [
    {
      because: 'noEffect',
      holds: 'false',
      message:
        "'spec.template.spec.nodeClassRef: ' + object.spec.template.spec.nodeClassRef.kind + ' of ' + object.spec.template.spec.nodeClassRef.group + ' is of another provider, so the NodePool has no effect in Joiner; for nodes of AKS use kind AKSNodeClass and group karpenter.azure.com'",
    },
  ],
}
