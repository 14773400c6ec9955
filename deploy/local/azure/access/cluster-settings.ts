/** An AKS cluster that ARM shows. */
export interface ManagedClusterSettings {
  readonly name: string
  /** Default: the name, and `-group`. */
  readonly resourceGroup?: string
  /** Default: that of the nodes. */
  readonly nodeResourceGroup?: string
  /** Properties of the resource that replace the default ones; null takes one away. */
  readonly properties?: Readonly<Record<string, unknown>>
}
