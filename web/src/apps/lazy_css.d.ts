/** A stylesheet that is loaded with the part of the page that needs it: its address. */
declare module '*.lazy.css' {
  const address: string
  export default address
}
