//! A drawing with its legend: part of a page, or a separate picture.

use super::escape;
use std::fmt::Write;

/// Contents of a drawing, independent of its place.
pub(super) struct Drawing {
    pub(super) title: String,
    /// Width and height in pixels.
    pub(super) size: (f64, f64),
    /// Elements of SVG.
    pub(super) body: String,
    /// Entries in order.
    pub(super) legend: Vec<(Key, String)>,
}

/// Symbol before a text in the legend; numbers are colours.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    /// A box.
    Box(usize),
    /// A dashed line.
    Dash(usize),
    /// A dotted line.
    Dot(usize),
    /// A cross.
    Cross(usize),
    /// A mark across the drawing.
    Mark,
    /// State of a radio, by its CSS class.
    Radio(&'static str),
}

/// Width of drawings on a page, which may stand side by side.
pub(super) const NARROW: f64 = 560.0;
/// Width of a picture that takes a whole row.
pub(super) const WIDE: f64 = 1_104.0;

impl Drawing {
    /// Draws it as part of a page, with a caption.
    pub(super) fn html(&self, page: &mut String, caption: &str) {
        let (width, height) = self.size;
        let title = escape(&self.title);
        let _ = write!(
            page,
            "<figure><figcaption>{title}</figcaption>\n\
             <svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n\
             {}</svg>\n",
            self.body
        );
        legend(page, &self.legend);
        let _ = writeln!(page, "<p class=\"caption\">{}</p></figure>", escape(caption));
    }

    /// Draws it as a file: title, drawing and legend, with its own styles for light and dark mode.
    pub(super) fn svg(&self) -> String {
        let (width, height) = self.size;
        let (entries, legend_height) = self.entries(height + TITLE);
        let whole = height + TITLE + legend_height;
        let title = escape(&self.title);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {whole}\" \
             width=\"{width}\" height=\"{whole}\" role=\"img\" aria-label=\"{title}\">\n<style>\n"
        );
        text.push_str(include_str!("drawing.css"));
        let _ = write!(
            text,
            "text {{ font-family: system-ui, sans-serif; }}\n</style>\n\
             <rect class=\"card\" width=\"{width}\" height=\"{whole}\"/>\n\
             <text class=\"title\" x=\"4\" y=\"20\">{title}</text>\n\
             <g transform=\"translate(0 {TITLE})\">\n{}</g>\n{entries}</svg>\n",
            self.body
        );
        text
    }

    /// The legend below a picture, and its height.
    fn entries(&self, top: f64) -> (String, f64) {
        let (mut text, mut x, mut y) = (String::new(), MARGIN, top + 12.0);
        for (key, name) in &self.legend {
            let width = 26.0 + LETTER * name.chars().count() as f64 + 18.0;
            if x > MARGIN && x + width > self.size.0 {
                (x, y) = (MARGIN, y + ROW);
            }
            let (right, bottom) = (x + 14.0, y - 4.0);
            let line = |class: &str, colour: usize| {
                format!(
                    "<line class=\"line {class} c{colour}\" x1=\"{x:.1}\" x2=\"{right:.1}\" \
                     y1=\"{bottom:.1}\" y2=\"{bottom:.1}\"/>"
                )
            };
            let rect = |class: &str| {
                let place = format!("x=\"{x:.1}\" y=\"{:.1}\"", y - 9.0);
                format!("<rect class=\"{class}\" {place} width=\"14\" height=\"10\"/>")
            };
            let sign = match key {
                Key::Box(colour) => rect(&format!("f{colour}")),
                Key::Dash(colour) => line("dash", *colour),
                Key::Dot(colour) => line("dot", *colour),
                Key::Cross(colour) => {
                    let top = y - 9.0;
                    let path = format!("M{x:.1} {top:.1}l9 9m0 -9l-9 9");
                    format!("<path class=\"paper c{colour}\" d=\"{path}\"/>")
                }
                Key::Mark => {
                    let (middle, top) = (x + 7.0, y - 10.0);
                    format!(
                        "<line class=\"mark\" x1=\"{middle:.1}\" x2=\"{middle:.1}\" \
                         y1=\"{top:.1}\" y2=\"{y:.1}\"/>"
                    )
                }
                Key::Radio(class) => rect(&format!("k-{class}")),
            };
            let _ = writeln!(
                text,
                "{sign}<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                x + 20.0,
                escape(name)
            );
            x += width;
        }
        let height = if self.legend.is_empty() { 0.0 } else { y - top + 10.0 };
        (text, height)
    }
}

/// Pixels above a picture for its title, left of its legend, per row of the legend, and per letter
/// on average.
const TITLE: f64 = 30.0;
const MARGIN: f64 = 8.0;
const ROW: f64 = 20.0;
const LETTER: f64 = 6.4;

/// The legend of a page's figure.
pub(super) fn legend(page: &mut String, entries: &[(Key, String)]) {
    page.push_str("<ul class=\"legend\">\n");
    for (key, name) in entries {
        let sign = match key {
            Key::Box(colour) => format!("<i class=\"b{colour}\"></i>"),
            Key::Dash(colour) => format!("<i class=\"dash d{colour}\"></i>"),
            Key::Dot(colour) => format!("<i class=\"dot d{colour}\"></i>"),
            Key::Cross(colour) => format!("<i class=\"cross t{colour}\">×</i>"),
            Key::Mark => "<i class=\"markkey\"></i>".to_owned(),
            Key::Radio(class) => format!("<i class=\"k-{class}\"></i>"),
        };
        let _ = writeln!(page, "<li>{sign}{}</li>", escape(name));
    }
    page.push_str("</ul>\n");
}
