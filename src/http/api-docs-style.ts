/** The one style of the API reference. Colors come in pairs: light, dark. */
export const STYLE = `
:root{color-scheme:light dark;--ink:light-dark(#1a211d,#e7ece8);--soft:light-dark(#56605a,#a2aea7);--line:light-dark(#e4e2d9,#26302b);--ground:light-dark(#f6f5f1,#0e1311);--card:light-dark(#fff,#151c19);--sunken:light-dark(#f0efe9,#0f1614);--accent:light-dark(#0b6b5b,#6fd3bb);--accent-soft:light-dark(#e2f0eb,#143029);--amber:light-dark(#7a5200,#f2c976);--danger:light-dark(#a52a20,#ff9f94)}
*{box-sizing:border-box}html{scroll-padding-top:1rem}body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
.frame{display:grid;grid-template-columns:15rem minmax(0,1fr);gap:2.5rem;max-width:90rem;margin:auto;padding:1.5rem 1.5rem 5rem}
h1{font:600 1.9rem/1.2 ui-serif,Charter,Cambria,Georgia,serif;margin:0 0 .4rem}h2{margin:2rem 0 .6rem;font-size:1.15rem}h2:first-of-type{margin-top:1.2rem}h3{font-size:.82rem;margin:1.1rem 0 .35rem;color:var(--soft);font-weight:600}
p{margin:.4rem 0}.soft{color:var(--soft)}a{color:var(--accent);text-underline-offset:3px}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
main{grid-column:2;min-width:0}nav{grid-column:1;grid-row:1;position:sticky;top:1.5rem;align-self:start;max-height:calc(100vh - 3rem);overflow-y:auto;padding:4px}
nav .home{font-weight:600;color:var(--ink);text-decoration:none}nav ul{list-style:none;margin:.8rem 0 0;padding:0;display:grid;gap:2px}
nav li a{display:flex;justify-content:space-between;gap:.5rem;padding:.25rem .6rem;border-radius:8px;color:var(--ink);text-decoration:none;overflow-wrap:anywhere}nav li a:hover{background:var(--accent-soft)}nav li a[aria-current]{background:var(--accent-soft);color:var(--accent);font-weight:600}nav .count{color:var(--soft);font-weight:400}
form{display:flex;gap:.5rem;margin:1rem 0;max-width:34rem}input{flex:1;min-width:0;font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:8px;padding:.45rem .7rem}button{font:600 1rem/1 inherit;color:var(--card);background:var(--accent);border:0;border-radius:8px;padding:.5rem 1rem;cursor:pointer}label{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.list{list-style:none;margin:0;padding:0;background:var(--card);border:1px solid var(--line);border-radius:12px}.list li{border-top:1px solid var(--line)}.list li:first-child{border:0}
.list a{display:grid;grid-template-columns:4.2rem minmax(0,1.1fr) minmax(0,1fr);gap:.2rem .8rem;align-items:baseline;padding:.5rem .9rem;color:inherit;text-decoration:none}.list a:hover{background:var(--accent-soft)}
.method{font:600 .78rem ui-monospace,monospace;color:var(--accent)}.post,.put,.patch{color:var(--amber)}.delete{color:var(--danger)}.path{font:.88rem ui-monospace,monospace;overflow-wrap:anywhere}.summary{color:var(--soft)}
section.operation{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:1rem 1.2rem 1.2rem;margin:1rem 0;scroll-margin-top:1rem}section.operation:target{border-color:var(--accent)}section.operation h2{margin:0;font-size:1.05rem}.line{display:flex;flex-wrap:wrap;gap:.3rem .8rem;align-items:baseline;margin:.2rem 0}
.beside{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));gap:0 1.5rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}td,th{text-align:start;padding:.3rem .8rem .3rem 0;border-top:1px solid var(--line);vertical-align:top;font-weight:400}tr:first-child>*{border:0}code{font:.88em ui-monospace,monospace;overflow-wrap:anywhere}
pre{margin:0;background:var(--sunken);border:1px solid var(--line);border-radius:8px;padding:.7rem .9rem;font:.82rem/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;max-height:24rem;overflow-y:auto}
@media(min-width:801px){.jump{display:none}}
@media(max-width:800px){.frame{grid-template-columns:minmax(0,1fr);gap:1rem;padding:1rem}main,nav{grid-column:1;grid-row:auto}nav{position:static;max-height:none}.list a{grid-template-columns:4.2rem minmax(0,1fr)}.list .summary{grid-column:1/-1}}
`
