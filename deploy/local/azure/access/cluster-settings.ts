import { type Checked, record, strictRecord, text } from '../../../../api/shapes/shape.ts'

/** An AKS cluster that ARM shows. */
export const managedClusterShape = strictRecord(
  {
    name: text,
    /** Default: the name, and `-group`. */
    resourceGroup: text,
    /** Default: that of the nodes. */
    nodeResourceGroup: text,
    /** Properties of the resource that replace the default ones; null takes one away. */
    properties: record({}).loose(),
  },
  ['name'],
)

export type ManagedClusterSettings = Checked<typeof managedClusterShape>
