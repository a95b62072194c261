import java.nio.file.Files;
import java.nio.file.Path;
import org.languagetool.JLanguageTool;
import org.languagetool.Languages;
import org.languagetool.rules.Rule;
import org.languagetool.rules.RuleMatch;

/** Prints a find of LanguageTool's rules of grammar a line: the file, the rule, the words and those around them. */
class Grammar {
  public static void main(String[] files) throws Exception {
    JLanguageTool tool = new JLanguageTool(Languages.getLanguageForShortCode("en-US"));
    for (Rule rule : tool.getAllRules()) {
      if (!rule.getCategory().getId().toString().equals("GRAMMAR")) tool.disableRule(rule.getId());
    }
    for (String file : files) {
      String text = Files.readString(Path.of(file));
      for (RuleMatch match : tool.check(text)) {
        if (!match.getRule().getCategory().getId().toString().equals("GRAMMAR")) continue;
        int from = Math.max(0, match.getFromPos() - 40);
        int to = Math.min(text.length(), match.getToPos() + 40);
        System.out.println(file + "\t" + match.getRule().getId() + "\t" + text.substring(from, to).replaceAll("\\s+", " "));
      }
    }
  }
}
